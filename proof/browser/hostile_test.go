//go:build unix

package browser

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// evils are texts that are code to somebody who takes them for it.
var evils = []string{
	`<script>alert("script")</script>`,
	`"><img src=x onerror=alert("onerror")>`,
	`</script><script>alert("closed")</script>`,
	`' autofocus onfocus=alert("quote") x='`,
	`{{.}} {{template "top" .}} {{printf "%s" .Body}}`,
	`javascript:alert("url")//`,
	"line\u2028separator\u2029';alert(\"separator\")//",
	"\u202egnp.exe \u2066isolate",
	`<!--<svg onload=alert("svg")>`,
	"&lt;b&gt; %3Cscript%3E \\u003cscript\\u003e",
	`${alert("literal")} {n} {name} `,
}

// planted is a store in which every text of every thing is evil.
type planted struct {
	*rig
	plants []plant
}

// plant is what was made of one text: jobs that run, wait, have failed, succeeded and were deleted, and a batch.
type plant struct {
	evil                                         string
	running, waiting, failed, succeeded, deleted int64
	batch                                        int64
}

func (r planted) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// plant puts a text into every field that a job, a batch, a recurring job, a server, a queue and a limit can carry. It goes past the client,
// whose rules for names would refuse most of it, since a store may hold what other programs have put there.
func (r *planted) plant(evil string) {
	r.Helper()
	ctx := driver.WithActor(r.Context(), evil)
	batch, err := r.store.OpenBatch(ctx, driver.NewBatch{Description: evil, Meta: map[string]string{evil: evil}})
	r.must(err)
	_, err = r.store.OpenBatch(ctx, driver.NewBatch{Description: evil, Parent: batch})
	r.must(err)
	job := r.evilJob(evil)
	job.BatchID = batch
	waits := job
	waits.Parents = []driver.Parent{{Index: 0, On: driver.OnSucceeded}}
	limited := job
	limited.LimitKey, limited.LimitMax = evil, 1
	later := job
	later.Delay = time.Hour
	out, err := r.store.Insert(ctx, []driver.InsertParams{job, waits, job, job, job, limited, limited, later})
	r.must(err)
	r.plants = append(r.plants, plant{
		evil: evil, running: out[0].ID, waiting: out[1].ID, failed: out[2].ID, succeeded: out[3].ID, deleted: out[4].ID, batch: batch,
	})
	r.run(evil, 3)
	_, err = r.store.Delete(ctx, driver.Filter{IDs: []int64{out[4].ID}})
	r.must(err)
	r.must(r.store.PauseQueue(ctx, evil, true))
	r.must(r.store.PutRecurring(ctx, driver.Recurring{
		ID: evil, Group: evil, Spec: evil, Location: evil, Template: job, NextRunAt: time.Now().Add(-time.Hour), LastRunAt: time.Now(), LastJobID: out[0].ID,
	}))
	_, err = r.store.Heartbeat(ctx, driver.ServerInfo{ID: evil, Host: evil, Version: evil, Queues: []string{evil}, Kinds: []string{evil}, Workers: 3})
	r.must(err)
}

func (r *planted) evilJob(evil string) driver.InsertParams {
	r.Helper()
	args, err := json.Marshal(map[string]any{evil: []any{evil, map[string]string{evil: evil}}})
	r.must(err)
	return driver.InsertParams{
		Kind: evil, Queue: evil, Title: evil, Args: args, Meta: map[string]string{evil: evil}, Tags: []string{evil}, MaxAttempts: 3,
	}
}

// run gives some of the jobs an end and a console: one succeeds, one fails, one goes on.
func (r *planted) run(evil string, n int) {
	r.Helper()
	ctx := r.Context()
	claimed, err := r.store.Claim(ctx, driver.ClaimQuery{Queues: []string{evil}, Kinds: []string{evil}, Limit: n, Server: evil})
	r.must(err)
	if len(claimed) != n {
		r.Fatalf("%d of %d jobs were claimed", len(claimed), n)
	}
	for _, j := range claimed {
		r.must(r.store.WriteConsole(ctx, j.Ref, []string{evil, evil}, 50))
	}
	output, err := json.Marshal(map[string]string{evil: evil})
	r.must(err)
	_, err = r.store.Finish(ctx, evil, []driver.Outcome{
		{Ref: claimed[1].Ref, State: driver.Failed, Reason: evil, Error: evil + "\n" + evil, Trace: evil},
		{Ref: claimed[2].Ref, State: driver.Succeeded, Output: output},
	})
	r.must(err)
}

// pages are the paths on which the texts stand.
func (r *planted) pages() []string {
	pages := []string{
		"/", "/recurring", "/queues", "/servers", "/batches", "/limits", "/retries",
		"/jobs/failed", "/jobs/enqueued", "/jobs/succeeded", "/jobs/deleted", "/jobs/processing", "/jobs/awaiting", "/jobs/throttled", "/jobs/scheduled",
	}
	for _, p := range r.plants {
		q := url.QueryEscape(p.evil)
		pages = append(pages, "/jobs/failed?kind="+q+"&queue="+q+"&tag="+q, "/jobs/failed?kind=nobody&tag="+q, "/batches/"+text(p.batch))
		for _, id := range []int64{p.running, p.waiting, p.failed, p.succeeded, p.deleted} {
			pages = append(pages, "/jobs/"+text(id))
		}
	}
	return pages
}

// strange is what a page has that only evil can have made: elements with handlers, foreign scripts and pictures, links that are code.
const strange = `[
	...[...document.querySelectorAll("*")].filter(e => [...e.attributes].some(a => /^on/i.test(a.name))).map(e => "handler: " + e.outerHTML.slice(0, 200)),
	...[...document.querySelectorAll("script:not([src]):not([type='application/json'])")].map(e => "script: " + e.outerHTML.slice(0, 200)),
	...[...document.querySelectorAll("img, iframe, object, embed, base, body script")].map(e => "element: " + e.outerHTML.slice(0, 200)),
	...[...document.querySelectorAll("[href], [action], [formaction], [src]")].flatMap(e => ["href", "action", "formaction", "src"].map(a => e.getAttribute(a)).filter(v => v && /^\s*(javascript|data|vbscript):/i.test(v))).map(v => "link: " + v),
]`

// TestHostileText looks at pages full of code: all of it is shown as text, and none of it is run, also when the page updates itself.
func TestHostileText(t *testing.T) {
	r := &planted{rig: newRig(t)}
	for _, evil := range evils {
		r.plant(evil)
	}
	p := open(t, r.root)
	for _, path := range r.pages() {
		p.visit(path)
		p.sees("main h1")
		p.harmless(path)
	}
	r.asText(p)
	for _, plant := range r.plants {
		r.live(p, plant)
	}
}

func (p *tab) harmless(where string) {
	p.Helper()
	for _, bad := range eval[[]string](p, strange) {
		p.Errorf("%s has %s", where, bad)
	}
}

// asText says that pages show the texts letter by letter, where they are to be seen.
func (r *planted) asText(p *tab) {
	for path, selectors := range map[string][]string{
		"/jobs/failed": {"tr[data-row] .name", "tr[data-row] a.tag", "tr[data-row] td"},
		"/queues":      {"tr[data-row] .name"},
		"/servers":     {"tr[data-row] .name", "tr[data-row] .id", "tr[data-row] .tag", "tr[data-row] .hint"},
		"/recurring":   {"tr[data-row] .name", "tr[data-row] code", "tr[data-row] th"},
		"/batches":     {".batches .name"},
		"/limits":      {"tr[data-row] .name"},
		"/":            {".problem-list"},
	} {
		r.stand(p, path, evils, selectors...)
	}
	for _, plant := range r.plants {
		evil := []string{plant.evil}
		r.stand(p, "/jobs/"+text(plant.failed), evil,
			"h1", ".labels", ".error", ".trace", ".attempts", "#console", ".tree[data-value=args]", ".tree[data-value=meta]", "a.tag")
		r.stand(p, "/jobs/"+text(plant.succeeded), evil, ".tree[data-value=output]")
		r.stand(p, "/batches/"+text(plant.batch), evil, "h1", ".tree-list .name")
	}
}

// stand says that all texts stand at each of the selectors.
func (r *planted) stand(p *tab, path string, texts []string, selectors ...string) {
	p.visit(path)
	for _, selector := range selectors {
		all := eval[string](p, fmt.Sprintf(`[...document.querySelectorAll(%q)].map(e => e.textContent).join("\n")`, selector))
		for _, evil := range texts {
			if !strings.Contains(all, evil) && !strings.Contains(all, quoted(evil)) {
				p.Errorf("on %s the text %q does not stand at %s, where there is %.300q", path, evil, selector, all)
			}
		}
	}
}

// quoted is a text as JSON has it between the quotes.
func quoted(text string) string {
	b, _ := json.Marshal(text)
	s := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(b))
	return s[1 : len(s)-1]
}

// live lets a console update itself.
func (r *planted) live(p *tab, plant plant) {
	r.Helper()
	p.visit("/jobs/" + text(plant.running))
	line := plant.evil + " and then"
	r.must(r.store.WriteConsole(r.Context(), r.job(plant.running).Ref, []string{line}, 60))
	p.await("new line of the console", func() bool {
		return strings.Contains(eval[string](p, `document.getElementById("console").textContent`), line)
	})
	p.harmless("the console")
}
