package main

import (
	"context"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
)

const (
	worker = "worker-1:4711:0a1b2c3d4e5f6071"
	silent = "worker-2:4712:8192a3b4c5d6e7f8"
)

// play fills a store with something of everything that the pages can show.
func play() (*scene, error) {
	s := newScene()
	s.at(26 * time.Hour)
	s.recurring()
	s.at(2 * time.Hour)
	s.beat(silent, "worker-2", 5, 1, []string{"default"}, []string{"invoice"})
	s.at(50 * time.Minute)
	s.beat(worker, "worker-1", 10, 2, []string{"default", "mail", "paused"}, []string{"invoice", "mail", "report", "charge", "import"})
	s.successes()
	s.failures()
	s.batches()
	s.waiting()
	s.running()
	s.at(2 * time.Second)
	s.beat(worker, "worker-1", 10, 2, []string{"default", "mail", "paused"}, []string{"invoice", "mail", "report", "charge", "import"})
	s.at(0)
	return s, s.err
}

func (s *scene) recurring() {
	ctx := context.Background()
	s.keep(s.client.SetRecurring(ctx, "nightly-report", "0 3 * * *", payload{"report", map[string]any{"days": 1}}, kiln.TZ("America/Sao_Paulo")))
	s.keep(s.client.SetRecurring(ctx, "rates", "*/5 * * * *", payload{"rates", nil}, kiln.MisfireSkip, kiln.Overlap(false)))
	s.keep(s.client.SetRecurring(ctx, "cleanup", "30 4 * * SUN", payload{"cleanup", nil}, kiln.Queue("low")))
	s.keep(s.client.PauseRecurring(ctx, "cleanup"))
}

func (s *scene) successes() {
	for i := range 40 {
		s.at(time.Duration(49-i) * time.Minute)
		for range 1 + i%5 {
			s.enqueue("invoice", map[string]any{"number": 1000 + i}, kiln.Tags{"customer:17"}, kiln.Title(fmt.Sprintf("Invoice %d", 1000+i)))
			ref := s.start("default", worker)
			s.now = s.now.Add(1400 * time.Millisecond)
			s.finish(worker, driver.Outcome{Ref: ref, State: driver.Succeeded, Output: []byte(`{"pdf":"invoices/1000.pdf","pages":2}`)})
		}
	}
	s.at(9 * time.Minute)
	gone := s.enqueue("invoice", map[string]any{"number": 1}, kiln.Delay(time.Hour))
	_, err := s.client.Delete(driver.WithActor(context.Background(), "ana"), gone)
	s.keep(err)
}

const trace = `goroutine 41 [running]:
main.charge({0xc00001c0a8, 0x11})
	/srv/shop/charge.go:48 +0x1d5
main.main.func1()
	/srv/shop/main.go:91 +0x2c`

func (s *scene) failures() {
	for i := range 3 {
		s.at(time.Duration(12-3*i) * time.Minute)
		id := s.enqueue("charge", map[string]any{"order": 10422 + i, "amount": map[string]any{"value": "192.00", "currency": "EUR"}, "note": nil, "express": true},
			kiln.Title(fmt.Sprintf("Charge order %d", 10422+i)), kiln.MaxAttempts(2), kiln.Tags{"order", "eur"}, kiln.Meta{"trace": "4bf92f3577b34da6"})
		s.enqueue("mail", map[string]any{"template": "receipt"}, kiln.After{id}, kiln.Title("Receipt"))
		ref := s.start("default", worker)
		s.say(ref, -1, "asking the payment provider", "no answer within 2s")
		s.now = s.now.Add(2 * time.Second)
		s.finish(worker, driver.Outcome{Ref: ref, State: driver.Scheduled, Delay: 8 * time.Second, Reason: "retry", Error: "payment provider: connection timed out after 2s"})
		s.now = s.now.Add(9 * time.Second)
		s.promote()
		s.now = s.now.Add(400 * time.Millisecond)
		ref = s.start("default", worker)
		s.say(ref, 40, "asking the payment provider", "<b>502</b> Bad Gateway & \"quotes\"")
		s.now = s.now.Add(3 * time.Second)
		s.finish(worker, driver.Outcome{Ref: ref, State: driver.Failed, Reason: "exhausted", Error: "payment provider: 502 Bad Gateway", Trace: trace})
	}
}

func (s *scene) batches() {
	ctx := context.Background()
	s.at(6 * time.Minute)
	outer, err := s.client.OpenBatch(ctx, &kiln.Batch{Description: "Spring catalogue", Meta: map[string]string{"season": "spring"}})
	s.keep(err)
	for i, name := range []string{"Kitchen", "Textiles"} {
		inner, err := s.client.OpenBatch(ctx, &kiln.Batch{Description: name, Parent: outer})
		s.keep(err)
		for n := range 4 {
			s.enqueue("import", map[string]any{"sku": fmt.Sprintf("%s-%d", name, n)}, kiln.InBatch(inner), kiln.Queue("mail"))
		}
		for range 4 - 2*i {
			s.finish(worker, driver.Outcome{Ref: s.start("mail", worker), State: driver.Succeeded})
		}
		s.keep(s.store.SealBatch(ctx, inner))
	}
	s.enqueue("report", map[string]any{"what": "catalogue"}, kiln.AfterBatch(outer), kiln.Title("Catalogue report"))
}

func (s *scene) waiting() {
	ctx := context.Background()
	s.at(5 * time.Minute)
	for i := range 3 {
		s.enqueue("charge", map[string]any{"order": 20000 + i}, kiln.Queue("stripe"), kiln.Limit{Key: "stripe", Max: 1, Rate: 10, Per: time.Second, Burst: 2})
	}
	s.at(4 * time.Minute)
	s.enqueue("thumbnail", map[string]any{"file": "IMG_0422.tiff"}, kiln.Queue("default"), kiln.Tags{"photo"})
	s.enqueue("report", map[string]any{"month": "2026-02"}, kiln.Queue("paused"))
	s.keep(s.client.PauseQueue(ctx, "paused"))
	s.at(90 * time.Second)
	s.enqueue("mail", map[string]any{"template": "offer"}, kiln.Queue("mail"), kiln.Delay(3*24*time.Hour))
	id := s.enqueue("invoice", map[string]any{"number": 2}, kiln.Priority(9))
	ref := s.start("default", worker)
	s.now = s.now.Add(time.Second)
	s.finish(worker, driver.Outcome{Ref: ref, State: driver.Scheduled, Delay: 5 * time.Minute, Reason: "retry", Error: fmt.Sprintf("job %d: no such customer", id)})
}

func (s *scene) running() {
	s.at(75 * time.Second)
	s.enqueue("import", map[string]any{"file": "orders-2026-02.csv"}, kiln.Title("Import of February"), kiln.Priority(5))
	ref := s.start("default", worker)
	s.now = s.now.Add(20 * time.Second)
	s.say(ref, 35, "120 of 340 rows", "row 121: unknown SKU \"ÄÖ-9\", left out")
}
