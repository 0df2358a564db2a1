package main

import (
	"context"
	"errors"
	"log/slog"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/memstore"
)

// watched is an open shop in virtual time.
type watched struct {
	*testing.T
	store  *memstore.Store
	client *kiln.Client
}

// openShop runs a shop while look looks at it.
func openShop(t *testing.T, look func(w watched)) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		defer store.Close()
		w := watched{t, store, kiln.NewClient(store)}
		s := newShop(w.client, slog.New(alarm{slog.DiscardHandler, t}))
		if err := s.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		servers, err := s.servers()
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for _, server := range servers {
			running.Go(func() {
				if err := server.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		running.Go(func() { s.trade(ctx) })
		defer running.Wait()
		defer stop()
		look(w)
	})
}

// alarm is a log in which nothing must be an error: those of handlers are their jobs' own.
type alarm struct {
	slog.Handler
	t *testing.T
}

func (a alarm) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }
func (a alarm) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(at slog.Attr) bool { text += " " + at.String(); return true })
	a.t.Errorf("logged: %s", text)
	return nil
}

// await waits in virtual time.
func (w watched) await(what string, patience time.Duration, seen func() bool) {
	w.Helper()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for begin := time.Now(); !seen(); <-tick.C {
		if time.Since(begin) > patience {
			w.Errorf("in %s there was no %s", patience, what)
			return
		}
	}
}

// jobs lists a state.
func (w watched) jobs(state kiln.State) []kiln.Record {
	w.Helper()
	page, err := w.client.List(w.Context(), kiln.JobQuery{State: state, Limit: 500})
	if err != nil {
		w.Fatal(err)
	}
	return page.Records
}

// any says that one of a state's jobs matches, looked at with all that is known of it.
func (w watched) any(state kiln.State, match func(r kiln.Record) bool) func() bool {
	return func() bool {
		for _, r := range w.jobs(state) {
			full, err := w.client.Get(w.Context(), r.ID)
			if errors.Is(err, kiln.ErrNotFound) {
				continue
			}
			if err != nil {
				w.Fatal(err)
			}
			if full.State == state && match(full) {
				return true
			}
		}
		return false
	}
}

func whatever(kiln.Record) bool { return true }

func ofKind(kind string) func(kiln.Record) bool {
	return func(r kiln.Record) bool { return r.Kind == kind }
}

// TestFirstMinutes looks at what somebody sees who has just started the demo: every state, and each way in which jobs go wrong.
func TestFirstMinutes(t *testing.T) {
	openShop(t, func(w watched) {
		const soon = time.Minute
		for _, state := range driver.States {
			w.await("job that is "+string(state), soon, w.any(state, whatever))
		}
		w.await("job some days ahead", soon, w.any(kiln.Scheduled, func(r kiln.Record) bool {
			return r.Attempt == 0 && time.Until(r.RunAt) > 5*24*time.Hour
		}))
		w.await("failure with a stack trace", soon, w.any(kiln.Failed, func(r kiln.Record) bool {
			last := r.History[len(r.History)-1]
			return strings.Contains(last.Error, "index out of range") && strings.Contains(last.Trace, "readHeader")
		}))
		w.await("retry of a believable error", 10*time.Minute, w.any(kiln.Scheduled, func(r kiln.Record) bool {
			return r.Attempt > 0 && len(r.History) > 0 && strings.Contains(r.History[len(r.History)-1].Error, ": ")
		}))
		w.await("output that came from parents", soon, w.any(kiln.Succeeded, func(r kiln.Record) bool {
			return r.Kind == "print_labels" && len(r.Parents) > 0 && strings.Contains(string(r.Output), "parcels")
		}))
		w.await("console under way", soon, w.any(kiln.Processing, func(r kiln.Record) bool {
			lines, err := w.store.Logs(w.Context(), r.ID, 0, 10)
			if err != nil {
				w.Fatal(err)
			}
			return r.Progress > 0 && r.Progress < 100 && len(lines) > 1
		}))
		w.await("job that its deadline has deleted", soon, w.any(kiln.Deleted, ofKind("announce_flash_sale")))
		w.await("job in a queue without a server", soon, w.any(kiln.Enqueued, func(r kiln.Record) bool { return r.Queue == queueVideo }))
		w.await("job in a paused queue", soon, w.any(kiln.Enqueued, func(r kiln.Record) bool { return r.Queue == queueWholesale }))
		w.await("job without a handler", soon, w.any(kiln.Enqueued, ofKind("count_loyalty_points")))
		w.batches()
		w.recurring()
		w.limits()
	})
}

func (w watched) batches() {
	w.Helper()
	w.await("nested batch with a continuation", 10*time.Minute, func() bool {
		page, err := w.store.Batches(w.Context(), driver.BatchQuery{Limit: 100})
		if err != nil {
			w.Fatal(err)
		}
		for _, b := range page.Batches {
			// Its own members are the continuations of the three sections in it.
			if b.Nested == 3 && b.NestedFinished == 3 && b.Total == 3 && !b.FinishedAt.IsZero() {
				return true
			}
		}
		return false
	})
}

func (w watched) recurring() {
	w.Helper()
	w.await("recurring job of each sort", 3*time.Minute, func() bool {
		list, err := w.store.Recurrings(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		var ran, zoned, failed, paused, late bool
		for _, r := range list {
			ran = ran || r.ID == "exchange-rates" && !r.LastRunAt.IsZero()
			zoned = zoned || r.ID == "sales-report" && r.Location == "Europe/Berlin"
			paused = paused || r.ID == "cart-reminders" && r.Paused
			late = late || r.ID == "carrier-pickup" && time.Since(r.NextRunAt) > driver.SilentAfter
			failed = failed || r.ID == "marketplace-stock"
		}
		failed = failed && w.any(kiln.Failed, func(r kiln.Record) bool { return r.RecurringID == "marketplace-stock" })()
		return ran && zoned && failed && paused && late
	})
}

func (w watched) limits() {
	w.Helper()
	for _, want := range []struct {
		what  string
		match func(l driver.LimitInfo) bool
	}{
		{"full key with a Max", func(l driver.LimitInfo) bool { return l.Key == "payments" && l.Active > 0 }},
		{"key with a Rate that reserves", func(l driver.LimitInfo) bool { return l.Key == "smtp" && l.Reserved > 0 && !l.NextStart.IsZero() }},
		{"key of a customer that holds jobs back", func(l driver.LimitInfo) bool {
			return strings.HasPrefix(l.Key, "export customer:") && l.Active == 1 && l.Throttled > 0
		}},
	} {
		w.await(want.what, 5*time.Minute, func() bool {
			list, err := w.store.Limits(w.Context(), "", 100)
			if err != nil {
				w.Fatal(err)
			}
			for _, l := range list {
				if want.match(l) {
					return true
				}
			}
			return false
		})
	}
}

// TestProblems waits for everything that the overview can complain of.
func TestProblems(t *testing.T) {
	openShop(t, func(w watched) {
		var seen driver.Problems
		w.await("moment with every problem", 10*time.Minute, func() bool {
			p, err := w.store.Problems(w.Context(), 0)
			if err != nil {
				w.Fatal(err)
			}
			seen = p
			failed, late := false, false
			for _, r := range p.Recurring {
				late, failed = late || r.Late, failed || !r.FailedAt.IsZero()
			}
			return len(p.Unserved) == 1 && len(p.Unhandled) == 1 && len(p.Oldest) > 0 && p.At.Sub(p.Oldest[0].Since) > time.Minute &&
				len(p.Held) > 0 && late && failed && len(p.Failures) > 2 && len(p.Silent) == 1 && len(p.Paused) == 1
		})
		if t.Failed() {
			t.Logf("%+v", seen)
		}
	})
}

// TestNames pins that mail can be sent to the customers, and that each is found by a tag of their own.
func TestNames(t *testing.T) {
	tags := map[string]bool{}
	for _, c := range customers {
		if _, err := mail.ParseAddress(c.Email()); err != nil || strings.ContainsFunc(c.Email(), func(r rune) bool { return r > 'z' }) {
			t.Errorf("%s has the address %q, %v", c.Name, c.Email(), err)
		}
		tags[c.tag()] = true
	}
	if len(tags) != len(customers) {
		t.Errorf("%d customers have %d tags", len(customers), len(tags))
	}
}

// TestStaysSmall keeps the shop open for twice as long as anything is kept.
func TestStaysSmall(t *testing.T) {
	openShop(t, func(w watched) {
		end := time.After(2 * retention.Failed)
		for tick := time.NewTicker(10 * time.Minute); ; {
			select {
			case <-tick.C:
			case <-end:
				return
			}
			n := 0
			for _, state := range driver.States {
				n += w.count(state)
			}
			if n > 10_000 {
				w.Fatalf("there are %d jobs", n)
			}
		}
	})
}

func (w watched) count(state kiln.State) (n int) {
	q := kiln.JobQuery{State: state, Limit: 500}
	for {
		page, err := w.client.List(w.Context(), q)
		if err != nil {
			w.Fatal(err)
		}
		n += len(page.Records)
		if q.Cursor = page.Next; q.Cursor == "" {
			return n
		}
	}
}
