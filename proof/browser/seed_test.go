//go:build unix

package browser

import (
	"net/http"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
)

// actor is who clicks.
func actor(*http.Request) string { return "ana" }

// seeds are the jobs of a seeded rig that tests name.
type seeds struct {
	// declined are failed charges, newest last; broken is a job that panicked, export one that failed and can be watched when it runs again.
	declined       []int64
	broken, export int64
	// batch is a batch with a nested one.
	batch int64
}

// seed lets a working server make what each page has to show, and waits until all of it is there.
func (r *rig) seed() seeds {
	r.Helper()
	var s seeds
	for order := 1; order <= 12; order++ {
		r.enqueue(chargeCard{Order: order}, kiln.Tags{"country:PT"})
	}
	for _, to := range []string{"ana@example.com", "jonas@example.com", "maud@example.com"} {
		r.enqueue(sendEmail{To: to}, kiln.Queue("mail"), kiln.Tags{"newsletter"})
	}
	s.broken = r.enqueue(thumbnail{File: "IMG_0417.tiff"}, kiln.MaxAttempts(1))
	s.export = r.enqueue(export{Customer: "Maud Lefèvre"}, kiln.Tags{"customer:1047"}, kiln.Meta{"requested_by": "maud@example.com"})
	r.reaches(s.export, kiln.Failed)
	r.reaches(s.broken, kiln.Failed)
	for order := 101; order <= 104; order++ {
		id := r.enqueue(chargeCard{Order: order, Broken: true}, kiln.Tags{"country:BR"})
		r.reaches(id, kiln.Failed)
		s.declined = append(s.declined, id)
	}
	s.batch = r.seedBatch()
	r.seedWaiting()
	r.seedRecurring()
	r.await("the server is idle", func() bool {
		n, err := r.store.Counts(r.Context())
		if err != nil {
			r.Fatal(err)
		}
		return n.Succeeded >= 12+3+4+1 && n.Processing == 0
	})
	return s
}

func (r *rig) seedBatch() int64 {
	r.Helper()
	catalogue := &kiln.Batch{Description: "Catalogue of Forja do Minho", Meta: map[string]string{"season": "spring"}}
	part := &kiln.Batch{Description: "Kitchen"}
	for order := 201; order <= 204; order++ {
		part.Add(chargeCard{Order: order})
	}
	catalogue.AddBatch(part)
	catalogue.Then(report{Shop: "Porto"})
	id, err := r.client.StartBatch(r.Context(), catalogue)
	if err != nil {
		r.Fatal(err)
	}
	return id
}

// seedWaiting adds jobs that wait: for a time, for another job, for a limit, for a queue that is paused, has no server, or for a handler.
func (r *rig) seedWaiting() {
	r.Helper()
	if err := r.client.PauseQueue(r.Context(), "wholesale"); err != nil {
		r.Fatal(err)
	}
	later := r.enqueue(sendEmail{To: "later@example.com"}, kiln.Queue("mail"), kiln.Delay(3*24*time.Hour))
	r.enqueue(report{Shop: "Leipzig"}, kiln.After{later})
	for _, to := range []string{"first@example.com", "second@example.com"} {
		r.enqueue(sendEmail{To: to}, kiln.Queue("wholesale"), kiln.Limit{Key: "wholesale", Max: 1})
	}
	r.enqueue(sendEmail{To: "nobody@example.com"}, kiln.Queue("video"))
	if _, err := r.store.Insert(r.Context(), []driver.InsertParams{{Kind: "count_points", Queue: kiln.DefaultQueue, Args: []byte("{}"), MaxAttempts: 3}}); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) seedRecurring() {
	r.Helper()
	err := r.client.SyncRecurring(r.Context(), "shop",
		kiln.RecurringSpec{ID: "sales-report", Spec: "15 2 * * *", Args: report{Shop: "Leipzig"}, Options: []kiln.RecurringOption{kiln.TZ("Europe/Berlin")}},
		kiln.RecurringSpec{ID: "cart-reminders", Spec: "0 18 * * MON-FRI", Args: sendEmail{To: "carts@example.com"}},
	)
	if err == nil {
		err = r.client.PauseRecurring(r.Context(), "cart-reminders")
	}
	if err != nil {
		r.Fatal(err)
	}
}

// pages are the paths of all pages in a seeded rig, by the names of their screenshots.
func (s seeds) pages() map[string]string {
	pages := map[string]string{
		"overview": "/", "overview-day": "/?range=24h", "retries": "/retries", "recurring": "/recurring", "queues": "/queues", "servers": "/servers",
		"batches": "/batches", "batch": "/batches/" + text(s.batch), "limits": "/limits",
		"job-failed": "/jobs/" + text(s.declined[0]), "job-panic": "/jobs/" + text(s.broken), "job-console": "/jobs/" + text(s.export),
		"jobs-filtered": "/jobs/failed?kind=charge_card&tag=country:BR", "jobs-nothing": "/jobs/failed?kind=nobody", "missing": "/jobs/999999",
	}
	for _, state := range driver.States {
		pages["jobs-"+string(state)] = "/jobs/" + string(state)
	}
	return pages
}
