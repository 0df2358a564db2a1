//go:build unix

package browser

import (
	"net/http"
	"testing"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/dashboard"
)

// TestLive looks at a list and at the overview while things happen: numbers change where they stand, rows stay where they are, and what is new
// is announced.
func TestLive(t *testing.T) {
	r := newRig(t)
	r.work()
	s := r.seed()
	list, overview := open(t, r.root), open(t, r.root)
	list.visit("/jobs/failed")
	overview.visit("/")
	overview.reads(`[data-live="counts.failed"]`, "6")
	before := list.shown()

	late := r.enqueue(chargeCard{Order: 301, Broken: true})
	r.reaches(late, kiln.Failed)
	overview.reads(`.tile [data-live="counts.failed"]`, "7")
	list.reads("#list-more", "1 new")
	if _, err := r.client.Delete(t.Context(), s.broken); err != nil {
		t.Fatal(err)
	}
	list.sees(row(s.broken) + ".moved")
	if now := list.shown(); len(now) != len(before) || now[0] != before[0] {
		t.Errorf("the list has moved by itself from %v to %v", before, now)
	}
	list.leave("#list-more a")
	if now := list.shown(); len(now) != len(before) || now[0] != text(late) {
		t.Errorf("the new list is %v, want job %d first", now, late)
	}
}

// TestFreeze stops a page's life and lets it go on.
func TestFreeze(t *testing.T) {
	r := newRig(t)
	r.work()
	r.seed()
	p, other := open(t, r.root), open(t, r.root)
	p.visit("/")
	other.visit("/")
	p.sees(`#live[data-state="live"]`)
	p.press("f")
	p.sees(`#live[data-state="frozen"]`)
	r.reaches(r.enqueue(chargeCard{Order: 301, Broken: true}), kiln.Failed)
	other.reads(`.tile [data-live="counts.failed"]`, "7")
	if n := eval[string](p, `document.querySelector('.tile [data-live="counts.failed"]').textContent`); n != "6" {
		t.Errorf("the frozen page says %s", n)
	}
	p.press("f")
	p.reads(`.tile [data-live="counts.failed"]`, "7")
}

// TestReadOnly shows everything and offers nothing.
func TestReadOnly(t *testing.T) {
	r := newRig(t, func(o *dashboard.Options) {
		o.Authorize = func(*http.Request) dashboard.Access { return dashboard.ReadOnly }
	})
	r.work()
	pages := r.seed().pages()
	p := open(t, r.root)
	p.alarm.expect("404")
	for name, path := range pages {
		p.visit(path)
		if n := eval[int](p, `document.querySelectorAll("[data-action], form[method=post] button, input[name=id]").length`); n > 0 {
			t.Errorf("%s offers %d actions to somebody who may only read", name, n)
		}
		p.reads("footer", "needs more rights")
	}
}

// withoutFlush keeps answers back until they are complete, as some middleware does.
func withoutFlush(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(struct{ http.ResponseWriter }{w}, r) })
}

// TestPolling keeps a page alive where streams do not get through.
func TestPolling(t *testing.T) {
	r := newRig(t)
	r.work()
	r.seed()
	p := open(t, r.serve(withoutFlush(r.handler)))
	p.alarm.expect("501") // the answer to the page that asks for a stream
	p.visit("/")
	p.sees(`#live[data-state="polling"]`)
	r.reaches(r.enqueue(chargeCard{Order: 301, Broken: true}), kiln.Failed)
	p.reads(`.tile [data-live="counts.failed"]`, "7")
}
