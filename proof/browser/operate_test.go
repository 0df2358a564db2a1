//go:build unix

package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
)

// shown are the rows that a list shows.
func (p *tab) shown() []string {
	p.Helper()
	return eval[[]string](p, `[...document.querySelectorAll("main tr[data-row]")].map(row => row.dataset.row)`)
}

func row(id int64) string { return `[data-row="` + text(id) + `"]` }

// TestFilter narrows a list by queue, kind and tag, and finds each filter in the address, where it can be shared.
func TestFilter(t *testing.T) {
	r := newRig(t)
	r.work()
	s := r.seed()
	p := open(t, r.root)

	p.visit("/jobs/failed")
	p.sees(row(s.export))
	p.do("kind", chromedp.SendKeys(chromedp.CSS("input[name=kind]"), "charge_card"), chromedp.SendKeys(chromedp.CSS("input[name=tag]"), "country:BR"))
	p.leave(".filters button")
	if at := p.path(); !strings.Contains(at, "kind=charge_card") || !strings.Contains(at, "tag=country%3ABR") {
		t.Errorf("the filter leads to %s", at)
	}
	if got := p.shown(); len(got) != len(s.declined) {
		t.Errorf("it shows jobs %v, want %v", got, s.declined)
	}
	// The same address shows the same to somebody else, and the filter goes along to another state.
	shared := p.path()
	other := open(t, r.root)
	other.visit(shared)
	if got := other.shown(); len(got) != len(s.declined) {
		t.Errorf("somebody else sees jobs %v at the same address", got)
	}
	other.leave(`.states a[href*="/jobs/succeeded"]`)
	if got := other.shown(); !strings.Contains(other.path(), "kind=charge_card") || len(got) != 0 {
		t.Errorf("at %s succeeded jobs %v are shown, want none of country:BR", other.path(), got)
	}
	// Tags and queues in rows are filters themselves.
	p.visit("/jobs/succeeded?queue=mail")
	if got := p.shown(); len(got) != 3 {
		t.Errorf("queue mail has jobs %v, want three", got)
	}
	p.leave("tr[data-row] a.tag")
	if at := p.path(); !strings.Contains(at, "tag=newsletter") {
		t.Errorf("the tag newsletter leads to %s", at)
	}
}

// TestRequeueAndConsole opens a failed job, sends it back to its queue, and reads its console while it runs.
func TestRequeueAndConsole(t *testing.T) {
	r := newRig(t)
	r.work()
	s := r.seed()
	p := open(t, r.root)
	p.visit("/jobs/failed")
	p.leave(row(s.export) + " a.name")
	p.reads(`[data-testid="error"]`, errDiskFull.Error())
	p.reads("#console", "exporting to a full disk")

	r.mended.Store(true)
	p.leave(`[data-action="requeue"]`)
	p.reads(`[data-testid="flash"]`, "1 job requeued")
	r.reaches(s.export, kiln.Processing)
	p.visit("/jobs/" + text(s.export))
	p.reads("#state", "Processing")
	for _, line := range []string{"January: 12 orders", "February: 9 orders"} {
		r.lines <- line
		p.reads("#console", line) // without another click
	}
	p.reads("#progress", "20")
	close(r.lines)
	r.reaches(s.export, kiln.Succeeded)
	p.reads("#job-more", "Succeeded")
	p.leave("#job-more a")
	p.reads("#state", "Succeeded")
	p.reads("main", "ana") // who requeued it
	if h := r.job(s.export).History; len(h) != 2 || h[1].Reason != "requeued" || h[1].Actor != "ana" {
		t.Errorf("history %+v", h)
	}
}

// TestPauseQueue pauses a queue and lets it go on.
func TestPauseQueue(t *testing.T) {
	r := newRig(t)
	r.work()
	r.seed()
	p := open(t, r.root)
	paused := func() bool {
		queues, err := r.store.Queues(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range queues {
			if q.Name == "mail" {
				return q.Paused
			}
		}
		return false
	}
	p.visit("/queues")
	p.leave(`[data-row="mail"] [data-action="pause"]`)
	p.reads(`[data-testid="flash"]`, "paused")
	if !paused() {
		t.Error("the queue is not paused")
	}
	waits := r.enqueue(sendEmail{To: "waits@example.com"}, kiln.Queue("mail"))
	p.reads(`[data-row="mail"] [data-field="enqueued"]`, "1") // live
	p.leave(`[data-row="mail"] [data-action="resume"]`)
	p.reads(`[data-testid="flash"]`, "goes on")
	r.reaches(waits, kiln.Succeeded)
}

// TestRunRecurring runs a recurring job now, pauses it and removes it.
func TestRunRecurring(t *testing.T) {
	r := newRig(t)
	r.work()
	r.seed()
	p := open(t, r.root)
	p.visit("/recurring")
	p.leave(`[data-row="sales-report"] [data-action="trigger"]`)
	p.reads(`[data-testid="flash"]`, "Started as job")
	r.await("its job has run", func() bool {
		page, err := r.client.List(t.Context(), kiln.JobQuery{State: kiln.Succeeded, Kind: "sales_report"})
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range page.Records {
			if j.RecurringID == "sales-report" {
				return true
			}
		}
		return false
	})
	p.leave(`[data-row="sales-report"] [data-action="pause"]`)
	if d, err := r.store.Recurring(t.Context(), "sales-report"); err != nil || !d.Paused {
		t.Errorf("after pause it is %+v, %v", d, err)
	}
	p.click(`[data-row="cart-reminders"] [data-action="remove"]`)
	p.leave(`[data-row="cart-reminders"] [data-action="remove-go"]`)
	p.reads(`[data-testid="flash"]`, "removed")
	if list, err := r.store.Recurrings(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("after one was removed there are %+v, %v", list, err)
	}
}

// TestBulk deletes what is selected, and then everything that a filter matches and nothing else.
func TestBulk(t *testing.T) {
	r := newRig(t)
	r.work()
	s := r.seed()
	p := open(t, r.root)
	p.visit("/jobs/failed?kind=charge_card")
	for _, id := range s.declined[:2] {
		p.click(row(id) + " input[name=id]")
	}
	p.reads("#picked", "2 selected")
	p.leave(`[data-action="delete-selected"]`)
	p.reads(`[data-testid="flash"]`, "2 jobs deleted")
	if at := p.path(); !strings.Contains(at, "kind=charge_card") {
		t.Errorf("the filter is lost: %s", at)
	}
	for i, id := range s.declined {
		if got, want := r.job(id).State == kiln.Deleted, i < 2; got != want {
			t.Errorf("job %d is %s", id, r.job(id).State)
		}
	}
	p.visit("/jobs/failed?kind=charge_card&tag=country:BR")
	p.click(`[data-action="all"]`)
	p.leave(`[data-action="delete-all"]`)
	p.reads(`[data-testid="flash"]`, "2 jobs deleted")
	if n, err := r.store.Counts(t.Context()); err != nil || n.Failed != 2 {
		t.Errorf("%d failed jobs are left, %v; want those of other kinds", n.Failed, err)
	}
	p.visit("/jobs/failed")
	p.click("#pick-all")
	p.leave(`[data-action="requeue-selected"]`)
	p.reads(`[data-testid="flash"]`, "2 jobs requeued")
}

// TestClicks counts: from the overview to the error of the newest failure in two, all failures of a kind requeued in three.
func TestClicks(t *testing.T) {
	r := newRig(t)
	r.work()
	s := r.seed()
	newest := s.declined[len(s.declined)-1]
	p := open(t, r.root)
	p.visit("/")
	p.leave(`.problem.p-failures [data-testid="newest-error"]`)
	p.reads(`[data-testid="error"]`, r.job(newest).History[0].Error)
	if at := p.path(); p.clicks > 2 || !strings.HasSuffix(at, "/jobs/"+text(newest)) {
		t.Errorf("after %d clicks one is at %s, want the newest failure, job %d, in two", p.clicks, at, newest)
	}

	r.mended.Store(true)
	p.visit("/")
	p.clicks = 0
	p.click(`[data-row="failures:charge_card"] [data-action="requeue-kind"]`)
	p.leave(`[data-row="failures:charge_card"] [data-action="requeue-all"]`)
	p.reads(`[data-testid="flash"]`, "4 jobs requeued")
	if p.clicks > 3 {
		t.Errorf("it took %d clicks", p.clicks)
	}
	for _, id := range s.declined {
		r.reaches(id, kiln.Succeeded)
	}
	if r.job(s.export).State != kiln.Failed {
		t.Error("a job of another kind was requeued as well")
	}
	p.visit("/")
	if eval[bool](p, `!!document.querySelector('[data-row="failures:charge_card"]')`) {
		t.Error("the overview still complains of failures that were mended")
	}
}

// TestDeleteOne cancels a job while it runs.
func TestDeleteOne(t *testing.T) {
	r := newRig(t)
	r.mended.Store(true)
	r.work()
	id := r.enqueue(export{Customer: "Jonas Becker"})
	r.reaches(id, kiln.Processing)
	p := open(t, r.root)
	p.visit("/jobs/" + text(id))
	p.leave(`[data-action="delete"]`)
	p.reads(`[data-testid="flash"]`, "deleted")
	r.reaches(id, driver.Deleted)
}
