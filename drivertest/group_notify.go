package drivertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// notice is how long an event may take.
const notice = 2 * time.Second * slowdown

func notifyCases() []testCase {
	cases := []testCase{
		{name: "Resync", pins: "The first event of a subscription is a Resync, of each one.", run: notifyResync},
		{name: "Stop", pins: "Subscribe returns nil within two seconds after its context is done, and calls fn no more.", run: notifyStop},
		{name: "Insert", pins: "An Insert tells JobsReady for every queue that got enqueued jobs.", run: notifyInsert},
		{name: "Promote", pins: "A Promote tells JobsReady for every queue that got jobs.", run: notifyPromote},
		{name: "Finish/retry", pins: "A Finish tells JobsReady for the queues of jobs that went straight back.", run: notifyFinish},
		{name: "Requeue", pins: "A Requeue tells JobsReady for every queue that got jobs.", run: notifyRequeue},
		{name: "Cancel", pins: "A Delete of a processing job tells CancelRequested with its id.", run: notifyCancel},
		{name: "Pause", pins: "A pause and a resume tell QueueChanged with the queue.", run: notifyPause},
		{name: "Several", pins: "Every subscriber hears every event, and one that leaves takes nothing from the others.", run: notifySeveral},
	}
	for i := range cases {
		cases[i].needs = needsNotifier
	}
	return cases
}

// needsNotifier says why a store cannot notify: no Notifier, or one that does not work as the store is set up.
func needsNotifier(e *env) string {
	n, ok := e.s.(driver.Notifier)
	if !ok {
		return "the store is no Notifier"
	}
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	returned := make(chan error, 1)
	heard := make(chan struct{}, 1)
	go func() {
		returned <- n.Subscribe(ctx, func(driver.Event) {
			select {
			case heard <- struct{}{}:
			default:
			}
		})
	}()
	select {
	case <-heard:
		cancel()
		<-returned
		return ""
	case err := <-returned:
		if errors.Is(err, errors.ErrUnsupported) {
			return "Subscribe is unsupported as the store is set up"
		}
		e.Fatalf("Subscribe returned %v before its context was done", err)
	case <-time.After(notice):
		e.Fatalf("Subscribe gave no event within %s; the first is a Resync", notice)
	}
	return ""
}

// subscription is one running Subscribe call.
type subscription struct {
	e        *env
	events   chan driver.Event
	cancel   context.CancelFunc
	returned chan error
}

// subscribe starts listening and waits for the Resync that comes first.
func (e *env) subscribe() *subscription {
	e.Helper()
	ctx, cancel := context.WithCancel(e.ctx)
	s := &subscription{e: e, events: make(chan driver.Event, 10_000), cancel: cancel, returned: make(chan error, 1)}
	n := e.s.(driver.Notifier)
	go func() {
		s.returned <- n.Subscribe(ctx, func(ev driver.Event) {
			select {
			case s.events <- ev:
			default: // a test that is over reads no more
			}
		})
	}()
	e.Cleanup(cancel)
	select {
	case ev := <-s.events:
		if ev.Kind != driver.Resync {
			e.Fatalf("the first event is %+v, want a Resync", ev)
		}
	case err := <-s.returned:
		e.Fatalf("Subscribe returned %v before its context was done", err)
	case <-time.After(notice):
		e.Fatalf("no event within %s of subscribing, want a Resync", notice)
	}
	return s
}

// stop ends the subscription and expects it to return nil in time.
func (s *subscription) stop() {
	s.e.Helper()
	s.cancel()
	select {
	case err := <-s.returned:
		if err != nil {
			s.e.Errorf("Subscribe returned %v after its context was done, want nil", err)
		}
	case <-time.After(notice):
		s.e.Fatalf("Subscribe did not return within %s of the end of its context", notice)
	}
}

// hears waits for all the events, in any order, among others. A Resync says nothing about what happened, so it does not count.
func (s *subscription) hears(what string, want ...driver.Event) {
	s.e.Helper()
	missing := map[driver.Event]bool{}
	for _, ev := range want {
		missing[ev] = true
	}
	var heard []driver.Event
	deadline := time.After(notice)
	for len(missing) > 0 {
		select {
		case ev := <-s.events:
			heard = append(heard, ev)
			s.check(ev)
			delete(missing, ev)
		case err := <-s.returned:
			s.e.Fatalf("%s: Subscribe returned %v while it was needed", what, err)
		case <-deadline:
			s.e.Fatalf("%s: within %s came %+v, and still missing is %+v", what, notice, heard, missing)
		}
	}
}

// check expects an event to carry what its kind says.
func (s *subscription) check(ev driver.Event) {
	s.e.Helper()
	ok := false
	switch ev.Kind {
	case driver.Resync, driver.Deaf:
		ok = true
	case driver.JobsReady, driver.QueueChanged, driver.JobsScheduled:
		ok = ev.Queue != ""
	case driver.CancelRequested:
		ok = ev.ID > 0
	}
	if !ok {
		s.e.Errorf("event %+v: JobsReady, QueueChanged and JobsScheduled carry Queue, CancelRequested carries ID, and there are no other kinds", ev)
	}
}

func ready(queue string) driver.Event { return driver.Event{Kind: driver.JobsReady, Queue: queue} }

func notifyResync(e *env) {
	e.insertOne()
	for range 3 {
		e.subscribe().stop()
	}
}

func notifyStop(e *env) {
	s := e.subscribe()
	e.insertOne(inQueue("heard"))
	s.hears("an insert", ready("heard"))
	s.stop()
	for len(s.events) > 0 {
		<-s.events
	}
	e.insertOne(inQueue("unheard"))
	other := e.subscribe()
	e.insertOne(inQueue("later"))
	other.hears("an insert, by another subscriber", ready("later"))
	if n := len(s.events); n > 0 {
		e.Errorf("a subscription that had returned was told %+v", <-s.events)
	}
	other.stop()
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	if err := e.s.(driver.Notifier).Subscribe(ctx, func(driver.Event) {}); err != nil {
		e.Errorf("Subscribe with a context that is done already returned %v, want nil", err)
	}
}

func notifyInsert(e *env) {
	s := e.subscribe()
	e.insertOne()
	s.hears("an insert", ready(queue1))
	e.insert(job(inQueue("a")), job(inQueue("b ")), job(inQueue("later"), withDelay(time.Hour)), job(inQueue("日本 '\"")), job(inQueue("a")))
	s.hears("an insert into three queues", ready("a"), ready("b "), ready("日本 '\""))
	var want []driver.Event
	var jobs []driver.InsertParams
	for i := range 30 {
		jobs = append(jobs, job(inQueue(fmt.Sprintf("q%d", i))))
		want = append(want, ready(fmt.Sprintf("q%d", i)))
	}
	e.insert(jobs...)
	s.hears("an insert into 30 queues", want...)
}

func notifyPromote(e *env) {
	s := e.subscribe()
	e.insert(job(inQueue("a"), withDelay(10*time.Millisecond)), job(inQueue("b"), withDelay(10*time.Millisecond)))
	e.pass(30 * time.Millisecond)
	eq(e, "jobs promoted", e.promote(10).Count, 2)
	s.hears("a promotion", ready("a"), ready("b"))
}

func notifyFinish(e *env) {
	a, b, c := e.running(inQueue("a")), e.running(inQueue("b")), e.running(inQueue("c"))
	s := e.subscribe()
	e.apply(
		driver.Outcome{Ref: a.Ref, State: driver.Scheduled},
		driver.Outcome{Ref: b.Ref, State: driver.Enqueued, Refund: true},
		driver.Outcome{Ref: c.Ref, State: driver.Succeeded},
	)
	s.hears("a retry without delay and a shutdown", ready("a"), ready("b"))
}

func notifyRequeue(e *env) {
	a, b := e.bring(driver.Failed, inQueue("a")), e.bring(driver.Succeeded, inQueue("b"))
	c := e.bring(driver.Scheduled, inQueue("c"))
	s := e.subscribe()
	eq(e, "jobs requeued", e.requeue(driver.Filter{IDs: []int64{a, b, c}}), 3)
	s.hears("a requeue", ready("a"), ready("b"), ready("c"))
}

func notifyCancel(e *env) {
	a, b := e.running(), e.running()
	s := e.subscribe()
	e.delete(driver.Filter{IDs: []int64{a.ID}})
	s.hears("a deletion by id", driver.Event{Kind: driver.CancelRequested, ID: a.ID})
	e.delete(driver.Filter{State: driver.Processing})
	s.hears("a deletion by state", driver.Event{Kind: driver.CancelRequested, ID: b.ID})
}

func notifyPause(e *env) {
	s := e.subscribe()
	e.pause("a", true)
	s.hears("a pause", driver.Event{Kind: driver.QueueChanged, Queue: "a"})
	e.pause("b", true)
	s.hears("a pause of another queue", driver.Event{Kind: driver.QueueChanged, Queue: "b"})
	e.pause("a", false)
	s.hears("a resume", driver.Event{Kind: driver.QueueChanged, Queue: "a"})
}

func notifySeveral(e *env) {
	a, b, c := e.subscribe(), e.subscribe(), e.subscribe()
	e.insertOne(inQueue("one"))
	for i, s := range []*subscription{a, b, c} {
		s.hears(fmt.Sprintf("an insert, by subscriber %d of 3", i+1), ready("one"))
	}
	b.stop()
	e.insertOne(inQueue("two"))
	a.hears("an insert, after another subscriber left", ready("two"))
	c.hears("an insert, after another subscriber left", ready("two"))
	a.stop()
	c.stop()
}
