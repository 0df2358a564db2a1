// The pages work without this script. It keeps their numbers alive, says what is new, and adds keys and small comforts.
"use strict";
(() => {
  const prefix = document.body.dataset.prefix;
  const watch = document.body.dataset.watch;
  const messages = JSON.parse(document.getElementById("messages").textContent);
  const language = document.documentElement.lang;
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const one = (selector, root = document) => root.querySelector(selector);

  // Words.
  const fill = (key, values = {}) => (messages[key] ?? key).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
  const plural = (key, n) => fill(key + (n === 1 ? ".one" : ".other"), { n: number(n) });
  const number = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, messages["number.group"]);
  const short = (n) => {
    for (const [from, by, sign] of [[1e9, 1e9, "G"], [1e6, 1e6, "M"], [1e4, 1e3, "k"]]) {
      if (n < from) continue;
      const tenths = Math.floor(n / (by / 10));
      if (tenths % 10 === 0 || tenths >= 10000) return number(Math.floor(tenths / 10)) + sign;
      return number(Math.floor(tenths / 10)) + messages["number.decimal"] + tenths % 10 + sign;
    }
    return number(n);
  };
  const rough = (seconds) => {
    if (seconds < 60) return fill("time.s", { n: Math.floor(seconds) });
    if (seconds < 3600) return fill("time.m", { n: Math.floor(seconds / 60) });
    if (seconds < 172800) return fill("time.h", { n: Math.floor(seconds / 3600) });
    return fill("time.d", { n: Math.floor(seconds / 86400) });
  };
  const relative = (at) => {
    const seconds = (Date.now() - at) / 1000;
    if (seconds >= 1) return fill("time.ago", { d: rough(seconds) });
    if (seconds <= -1) return fill("time.ahead", { d: rough(-seconds) });
    return messages["time.now"];
  };
  const milliseconds = (ms) => {
    if (ms < 1000) return fill("time.ms", { n: ms });
    if (ms < 10000) return fill("time.s", { n: Math.floor(ms / 1000) + messages["number.decimal"] + Math.floor(ms / 100) % 10 });
    return rough(ms / 1000);
  };

  // Times: in the reader's zone, and as old as they are now.
  const inFull = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "long" });
  const timeOfDay = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
  const dayAndTime = new Intl.DateTimeFormat(language, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const tell = (element) => {
    const at = Date.parse(element.dateTime);
    if (Number.isNaN(at)) return;
    if (element.hasAttribute("data-rel")) set(element, relative(at));
    if (element.hasAttribute("data-at")) set(element, (new Date(at).toDateString() === new Date().toDateString() ? timeOfDay : dayAndTime).format(at));
    if (!element.dataset.told) {
      element.title = inFull.format(at) + "\n" + new Date(at).toISOString();
      element.dataset.told = "1";
    }
  };
  const tellAll = (root = document) => all("time", root).forEach(tell);
  const set = (element, text) => { if (element.textContent !== text) element.textContent = text; };

  // Live: one stream for what this page shows. Nothing moves by itself: numbers change where they stand, and lists say what is new.
  const live = document.getElementById("live");
  let source = null, timer = 0, frozen = store("kiln.frozen") === "1", mode = "";
  function store(key, value) {
    try { return value === undefined ? localStorage.getItem(key) : localStorage.setItem(key, value); } catch { return null; }
  }
  const show = (state) => {
    if (!live || mode === state) return;
    mode = state;
    live.hidden = false;
    live.dataset.state = state;
    live.setAttribute("aria-pressed", String(state === "frozen"));
    set(one("span", live), messages[state]);
    live.title = messages[state];
  };
  const stop = () => {
    source?.close();
    source = null;
    clearInterval(timer);
    timer = 0;
  };
  const start = () => {
    stop();
    if (frozen) return show("frozen");
    if (document.hidden) return;
    source = new EventSource(prefix + "/api/events" + (watch ? "?watch=" + encodeURIComponent(watch) : ""));
    const on = (name, take) => source.addEventListener(name, (event) => { show("live"); take(JSON.parse(event.data)); });
    on("overview", takeOverview);
    on("region", takeRegion);
    source.onopen = () => show("live");
    source.onerror = () => {
      if (source?.readyState === EventSource.CLOSED) poll();
      else show("lost");
    };
  };
  // Where streams do not get through, the page asks every few seconds.
  const poll = () => {
    stop();
    show("polling");
    timer = setInterval(ask, 5000);
    ask();
  };
  const ask = async () => {
    try {
      takeOverview(await get("/api/overview"));
      if (watch.startsWith("overview")) takeRegion({ series: await get("/api/series" + watch.slice("overview".length)), problems: await get("/api/problems") });
      else if (watch) takeRegion(await get("/api/" + watch));
      show("polling");
    } catch {
      show("lost");
    }
  };
  const get = async (path) => {
    const answer = await fetch(prefix + path, { headers: { Accept: "application/json" }, credentials: "same-origin" });
    if (!answer.ok) throw new Error(answer.status);
    return answer.json();
  };

  const takeOverview = (overview) => {
    for (const element of all("[data-live]")) {
      const value = element.dataset.live.split(".").reduce((v, key) => v?.[key], overview);
      if (value === undefined) continue;
      const capped = overview.counts.capped && value >= 100000 && !/succeeded|deleted/.test(element.dataset.live);
      set(element, short(value) + (capped ? "+" : ""));
      element.classList.toggle("bad", element.dataset.live === "counts.failed" && value > 0 && element.classList.contains("count"));
    }
  };
  const takeRegion = (view) => {
    if (watch.startsWith("jobs/") && view.id) takeJob(view);
    else if (view.jobs) takeList(view);
    else if (view.problems || view.series) takeProblems(view);
    else takeRows(view);
  };

  // A list: rows that have moved on are marked where they stand, and what came is counted.
  const rowsAtFirst = new Set(all("tr[data-row]").map((row) => row.dataset.row));
  const takeList = (view) => {
    const now = new Map(view.jobs.map((job) => [String(job.id), job]));
    const fresh = view.jobs.filter((job) => !rowsAtFirst.has(String(job.id))).length;
    for (const row of all("tr[data-row]")) {
      // Of a list that goes on, a row that is missing may only have been pushed behind the first page.
      row.classList.toggle("moved", !now.has(row.dataset.row) && !view.next);
    }
    announce(fresh, Boolean(view.next) && fresh === view.jobs.length);
  };
  const announce = (fresh, orMore) => {
    const more = document.getElementById("list-more");
    if (!more) return;
    more.hidden = fresh === 0;
    set(one("a", more), orMore ? fill("new.more", { n: number(fresh) }) : plural("new", fresh));
    if (one("a", more).getAttribute("href") === "") one("a", more).href = location.href;
  };

  // A table of named things: numbers change in place.
  const takeRows = (view) => {
    const list = Object.values(view).find(Array.isArray);
    if (!list) return takeBatch(view);
    const shown = new Map(all("[data-row]").map((row) => [row.dataset.row, row]));
    let strange = 0;
    for (const item of list) {
      const row = shown.get(String(item.name ?? item.key ?? item.id));
      if (!row) { strange++; continue; }
      shown.delete(row.dataset.row);
      for (const element of all("[data-field]", row)) {
        const value = item[element.dataset.field];
        if (value === undefined) continue;
        if (element.dataset.as === "ms") {
          set(element, item.enqueued > 0 ? milliseconds(value) : "–");
          element.classList.toggle("late", value > 60000);
        } else set(element, number(value));
      }
      for (const bar of all("[data-width]", row)) bar.setAttribute("width", item[bar.dataset.width] ?? 0);
      for (const cell of all("[data-time]", row)) {
        const time = one("time", cell), at = item[cell.dataset.time];
        if (time && at && time.dateTime !== at) { time.dateTime = at; delete time.dataset.told; tell(time); }
      }
    }
    const more = document.getElementById("list-more");
    if (more) {
      const missing = [...shown.values()].some((row) => row.tagName === "TR" || row.parentElement.matches(".batches"));
      more.hidden = strange === 0 && !missing;
      set(one("a", more), strange ? plural("new", strange) : messages["list-changed"]);
    }
  };
  const takeBatch = (view) => {
    for (const element of all("[data-batch]")) set(element, number(view.counts?.[element.dataset.batch] ?? 0));
  };

  // The overview: the chart is drawn anew in its place; problems that came or went are announced.
  const problemsAtFirst = new Set(all(".problem").map((row) => row.dataset.row));
  const takeProblems = (view) => {
    if (view.problems) {
      const now = new Set(view.problems.problems.map((p) => p.kind + ":" + p.name));
      const same = now.size === problemsAtFirst.size && [...now].every((key) => problemsAtFirst.has(key));
      const more = document.getElementById("problems-more");
      if (more) more.hidden = same;
    }
    if (view.series) draw(view.series);
  };
  const draw = (series) => {
    const chart = one("#chart svg");
    if (!chart || chart.matches(":hover")) return;
    const up = 96, down = 44, slot = 12;
    const most = (name) => Math.max(...series.points.map((p) => p[name]));
    const mostUp = most("succeeded"), mostDown = most("failed");
    const scaled = (n, whole, height) => n > 0 && whole > 0 ? Math.max(Math.floor(n * height / whole), 2) : 0;
    const shape = (name, attributes) => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      return element;
    };
    const groups = series.points.map((point, i) => {
      const group = shape("g", {}), x = i * slot + 1, width = slot - 2;
      const high = scaled(point.succeeded, mostUp, up - 4), deep = scaled(point.failed, mostDown, down - 4);
      group.append(shape("rect", { class: "hit", x: i * slot, width: slot, height: up + down }));
      if (high) group.append(shape("rect", { class: "fill s-succeeded", x, y: up - high, width, height: high }));
      if (deep) group.append(shape("rect", { class: "fill s-failed", x, y: up + 1, width, height: deep }));
      const title = shape("title", {});
      title.textContent = timeOfDay.format(Date.parse(point.at)) + " · " + messages["state.succeeded"] + " " + number(point.succeeded) + " · " + messages["state.failed"] + " " + number(point.failed);
      group.append(title);
      return group;
    });
    chart.replaceChildren(one(".zero", chart), ...groups);
    const axis = all(".axis span");
    if (axis.length === 2) { set(axis[0], short(mostUp)); set(axis[1], short(mostDown)); }
  };

  // A job: its console goes on, and a change of state is announced.
  const consoleBox = document.getElementById("console");
  let fetching = false;
  const takeJob = (job) => {
    const state = document.getElementById("state");
    const moved = document.getElementById("job-more");
    if (moved && state) {
      const other = state.dataset.state !== job.state;
      moved.hidden = !other;
      if (other) set(one("a", moved), fill("moved-to", { state: messages["state." + job.state] }) + " · " + messages["job-moved"]);
    }
    progress(job.progress ?? 0);
    if (consoleBox && Number(job.last_seq ?? 0) > Number(consoleBox.dataset.after)) more();
  };
  const progress = (percent) => {
    const box = document.getElementById("progress");
    if (!box) return;
    box.hidden = percent === 0;
    one(".done", box).setAttribute("width", percent);
    set(one("[data-live-progress]", box), String(percent));
  };
  const more = async () => {
    if (fetching || !consoleBox) return;
    fetching = true;
    try {
      for (let page = 0; page < 20; page++) {
        const logs = await get("/api/jobs/" + consoleBox.dataset.job + "/logs?limit=500&after=" + consoleBox.dataset.after);
        progress(logs.progress);
        append(logs.lines);
        if (logs.lines.length < 500) break;
      }
    } catch { /* the next event tries again */ } finally { fetching = false; }
  };
  const append = (lines) => {
    const following = consoleBox.scrollHeight - consoleBox.scrollTop - consoleBox.clientHeight < 40;
    for (const line of lines) {
      if (line.seq <= Number(consoleBox.dataset.after)) continue;
      if (consoleBox.dataset.attempt !== String(line.attempt) || !consoleBox.firstChild) {
        const group = document.createElement("p");
        group.className = "group";
        group.textContent = consoleBox.dataset.attemptLabel.replace("{n}", line.attempt);
        consoleBox.append(group);
      }
      const row = document.createElement("p"), time = document.createElement("time"), text = document.createElement("span");
      time.dateTime = line.at;
      time.setAttribute("data-at", "");
      text.textContent = line.text;
      row.append(time, text);
      consoleBox.append(row);
      tell(time);
      consoleBox.dataset.after = line.seq;
      consoleBox.dataset.attempt = line.attempt;
    }
    if (lines.length) document.getElementById("console-empty")?.setAttribute("hidden", "");
    if (following) consoleBox.scrollTop = consoleBox.scrollHeight;
  };

  // Selection.
  const boxes = () => all("input[name=id]");
  const pickAll = document.getElementById("pick-all");
  const picked = () => {
    const n = boxes().filter((box) => box.checked).length;
    const label = document.getElementById("picked");
    if (label) set(label, n ? plural("picked", n) : "");
    if (pickAll) {
      pickAll.checked = n > 0 && n === boxes().length;
      pickAll.indeterminate = n > 0 && n < boxes().length;
    }
  };
  if (pickAll) {
    pickAll.hidden = false;
    pickAll.addEventListener("change", () => { boxes().forEach((box) => { box.checked = pickAll.checked; }); picked(); });
  }
  document.addEventListener("change", (event) => { if (event.target.name === "id") picked(); });

  // Copying.
  for (const button of all(".copy")) {
    button.hidden = !navigator.clipboard;
    button.addEventListener("click", async () => {
      let text = button.dataset.copyText;
      if (text === undefined) {
        const job = await get("/api/" + watch);
        text = JSON.stringify(job[button.dataset.copy] ?? null, null, 2);
      }
      await navigator.clipboard.writeText(text);
      set(button, messages.copied);
      setTimeout(() => set(button, messages.copy), 1500);
    });
  }

  // Keys.
  const dialog = document.getElementById("keys");
  const help = document.getElementById("help");
  if (help) {
    help.hidden = false;
    help.addEventListener("click", () => dialog.showModal());
  }
  let at = -1, going = false;
  const rows = () => all("[data-row]").filter((row) => one("[data-open], .name, a", row));
  const move = (by) => {
    const list = rows();
    if (!list.length) return;
    list[at]?.classList.remove("at");
    at = Math.min(Math.max(at + by, 0), list.length - 1);
    list[at].classList.add("at");
    (one("[data-open], a", list[at]) ?? list[at]).focus({ preventScroll: true });
    list[at].scrollIntoView({ block: "nearest" });
  };
  const press = (element) => { if (!element) return; element.tagName === "SUMMARY" ? element.parentElement.toggleAttribute("open") : element.click(); };
  document.addEventListener("keydown", (event) => {
    if (dialog?.open) return; // it has keys of its own
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [contenteditable]")) {
      if (event.key === "Escape") event.target.blur?.();
      return;
    }
    if (going) {
      going = false;
      const link = one(`[data-go="${CSS.escape(event.key)}"]`);
      if (link) { event.preventDefault(); link.click(); }
      return;
    }
    const act = {
      "/": () => document.getElementById("search") ? document.getElementById("search").focus() : one('[data-go="j"]').click(),
      g: () => { going = true; setTimeout(() => { going = false; }, 1500); },
      j: () => move(1),
      k: () => move(-1),
      x: () => { const box = rows()[at] && one("input[name=id]", rows()[at]); if (box) { box.checked = !box.checked; picked(); } },
      r: () => press(one("main [data-action=requeue], main [data-action=requeue-selected]")),
      ".": () => one("main button:not([hidden]), main summary")?.focus(),
      f: () => live?.click(),
      "?": () => dialog.showModal(),
      Escape: () => all("details.menu[open], details.act[open]").forEach((d) => { d.open = false; }),
    }[event.key];
    if (!act) return;
    if (event.key !== "Escape") event.preventDefault();
    act();
  });
  document.addEventListener("click", (event) => {
    for (const open of all("details.menu[open], details.act[open]")) if (!open.contains(event.target)) open.open = false;
  });
  live?.addEventListener("click", () => {
    frozen = !frozen;
    store("kiln.frozen", frozen ? "1" : "0");
    start();
  });

  one("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  tellAll();
  picked();
  setInterval(() => { if (!document.hidden && !frozen) tellAll(); }, 5000);
  if (consoleBox) consoleBox.scrollTop = consoleBox.scrollHeight;
  document.addEventListener("visibilitychange", () => { if (document.hidden) stop(); else { tellAll(); start(); } });
  addEventListener("pagehide", stop);
  addEventListener("pageshow", (event) => { if (event.persisted) start(); });
  start();
})();
