//go:build unix

package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/kilnjobs/kiln"
)

const focused = `document.activeElement?.closest("[data-row]")?.dataset.row ?? document.activeElement?.id ?? ""`

// TestLanguage chooses a language, which stays chosen; without a choice the browser's counts.
func TestLanguage(t *testing.T) {
	r := newRig(t)
	r.work()
	r.seed()
	p := open(t, r.root)
	p.visit("/jobs/failed?kind=charge_card")
	p.reads("main h1", "Failed")
	p.click(`details.menu:has([data-language]) summary`)
	p.leave(`[data-language="pt-BR"]`)
	if lang := eval[string](p, "document.documentElement.lang"); lang != "pt-BR" {
		t.Errorf("the page is in %s", lang)
	}
	p.reads("main h1", "Falh")
	if at := p.path(); !strings.Contains(at, "kind=charge_card") || strings.Contains(at, "lang=") {
		t.Errorf("the choice leads to %s", at)
	}
	p.visit("/queues")
	p.reads(`[data-row="mail"] [data-action="pause"]`, "Pausar")
	p.leave(`[data-row="mail"] [data-action="pause"]`)
	p.reads(`[data-testid="flash"]`, "pausada")

	brazilian := open(t, r.root)
	brazilian.speak("pt-BR,pt;q=0.9,en;q=0.5")
	brazilian.visit("/")
	if lang := eval[string](brazilian, "document.documentElement.lang"); lang != "pt-BR" {
		t.Errorf("for a Brazilian browser the page is in %s", lang)
	}
}

// TestTheme follows the system until another theme is chosen, which stays chosen.
func TestTheme(t *testing.T) {
	r := newRig(t)
	r.work()
	r.seed()
	p := open(t, r.root)
	dark := func() bool {
		t.Helper()
		return eval[bool](p, `(() => { const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number); return r + g + b < 384; })()`)
	}
	for _, theme := range []string{"light", "dark"} {
		p.prefer(theme)
		p.visit("/")
		if got := dark(); got != (theme == "dark") {
			t.Errorf("on a %s system the page is dark: %t", theme, got)
		}
	}
	p.click(`details.menu:has([data-theme-choice]) summary`)
	p.leave(`[data-theme-choice="light"]`)
	if dark() {
		t.Error("the light theme is dark")
	}
	p.visit("/queues")
	if dark() {
		t.Error("the choice of a light theme is forgotten on the next page")
	}
	p.click(`details.menu:has([data-theme-choice]) summary`)
	p.leave(`[data-theme-choice="dark"]`)
	p.prefer("light")
	if !dark() {
		t.Error("on a light system the dark theme is light")
	}
}

// TestKeys goes through the pages without the mouse.
func TestKeys(t *testing.T) {
	r := newRig(t)
	r.work()
	s := r.seed()
	p := open(t, r.root)
	p.visit("/")
	for key, path := range map[string]string{
		"o": "/", "j": "/jobs/enqueued", "f": "/jobs/failed", "e": "/retries", "b": "/batches", "r": "/recurring", "q": "/queues", "l": "/limits", "s": "/servers",
	} {
		p.press("g")
		p.press(key)
		p.arrives(path)
	}

	p.visit("/jobs/failed")
	rows := p.shown()
	p.press("j")
	p.press("j")
	if at := eval[string](p, focused); at != rows[1] {
		t.Errorf("after j j the row at hand is %s, want the second, %s", at, rows[1])
	}
	p.press("x")
	p.press("k")
	p.press("x")
	if picked := eval[[]string](p, `[...document.querySelectorAll("input[name=id]:checked")].map(box => box.value)`); strings.Join(picked, " ") != strings.Join(rows[:2], " ") {
		t.Errorf("x selects %v, want %v", picked, rows[:2])
	}
	p.reads("#picked", "2 selected")
	p.press(kb.Enter)
	p.arrives("/jobs/" + rows[0])

	p.press("?")
	p.sees("#keys[open]")
	p.press(kb.Escape)
	p.await("end of the help", func() bool { return !eval[bool](p, `document.getElementById("keys").open`) })

	p.visit("/jobs/failed")
	p.press("/")
	if at := eval[string](p, focused); at != "search" {
		t.Errorf("after / the keys go to %q, want the filter", at)
	}
	p.press("default" + kb.Enter)
	p.arrives("/jobs/failed?queue=default&kind=&tag=&batch=")

	r.mended.Store(true)
	p.visit("/jobs/" + text(s.declined[0]))
	p.press("r")
	p.reads(`[data-testid="flash"]`, "1 job requeued")
	r.reaches(s.declined[0], kiln.Succeeded)
}

// TestWithoutScript reads every page and acts on single jobs and queues in a browser that runs no script.
func TestWithoutScript(t *testing.T) {
	r := newRig(t)
	r.work()
	s := r.seed()
	r.mended.Store(true)
	p := open(t, r.root)
	call(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	p.alarm.expect("404")
	for name, path := range s.pages() {
		p.visit(path)
		html, err := get(p, chromedp.OuterHTML(chromedp.CSS("main")))
		if err != nil || !strings.Contains(html, "<h1") || strings.Contains(html, "{{") {
			t.Errorf("%s without script: %v, %.200s", name, err, html)
		}
	}
	p.visit("/jobs/" + text(s.broken))
	p.reads(`[data-testid="error"]`, "index out of range")
	p.click(".attempt details summary") // a stack trace unfolds by itself
	p.reads("pre.trace", "decode")

	p.visit("/jobs/" + text(s.declined[0]))
	p.leave(`[data-action="requeue"]`)
	p.reads(`[data-testid="flash"]`, "1 job requeued")
	r.reaches(s.declined[0], kiln.Succeeded)

	p.visit("/queues")
	p.leave(`[data-row="wholesale"] [data-action="resume"]`)
	p.reads(`[data-testid="flash"]`, "goes on")

	p.visit("/recurring")
	p.leave(`[data-row="sales-report"] [data-action="trigger"]`)
	p.reads(`[data-testid="flash"]`, "Started as job")

	p.visit("/jobs/failed?kind=charge_card")
	p.click(row(s.declined[1]) + " input[name=id]")
	p.leave(`[data-action="delete-selected"]`)
	p.reads(`[data-testid="flash"]`, "1 job deleted")
	r.reaches(s.declined[1], kiln.Deleted)
}
