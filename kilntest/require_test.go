package kilntest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/kilntest"
	"github.com/kilnjobs/kiln/memstore"
)

// recorder is a testing.TB that only has what the helpers may use.
type recorder struct {
	testing.TB
	ctx    context.Context
	failed string
}

func (r *recorder) Helper()                        {}
func (r *recorder) Context() context.Context       { return r.ctx }
func (r *recorder) Fatalf(format string, a ...any) { r.failed = fmt.Sprintf(format, a...) }

func newClient(t *testing.T) (*memstore.Store, *kiln.Client) {
	store := memstore.New()
	t.Cleanup(store.Close)
	return store, kiln.NewClient(store)
}

func enqueue(t *testing.T, c *kiln.Client, args kiln.Args, opts ...kiln.InsertOption) int64 {
	t.Helper()
	id, err := c.Enqueue(t.Context(), args, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func to(name string) func(*kiln.Job[email]) bool {
	return func(j *kiln.Job[email]) bool { return j.Args.To == name }
}

type letter struct{}

func (letter) Kind() string { return "letter" }

func TestRequireEnqueued(t *testing.T) {
	_, c := newClient(t)
	tb := &recorder{ctx: t.Context()}
	if j := kilntest.RequireEnqueued[email](tb, c, nil); j != nil || !strings.Contains(tb.failed, "no matching email job") {
		t.Errorf("an empty store: %+v, %q", j, tb.failed)
	}
	enqueue(t, c, letter{})
	later := enqueue(t, c, email{To: "later"}, kiln.Delay(time.Hour))
	ann := enqueue(t, c, email{To: "ann"}, kiln.Priority(-1), kiln.Tags{"t"})
	for range 1100 {
		enqueue(t, c, email{To: "many"})
	}
	tb.failed = ""
	if j := kilntest.RequireEnqueued(tb, c, to("ann")); j == nil || j.ID != ann || j.Priority != -1 || j.Tags[0] != "t" || j.Queue != "mail" || tb.failed != "" {
		t.Errorf("behind 1100 others: %+v, %q", j, tb.failed)
	}
	if j := kilntest.RequireEnqueued(tb, c, to("later")); j == nil || j.ID != later || tb.failed != "" {
		t.Errorf("scheduled: %+v, %q", j, tb.failed)
	}
	if j := kilntest.RequireEnqueued[email](tb, c, nil); j == nil || j.Args.To != "many" || tb.failed != "" {
		t.Errorf("any: %+v, enqueued ones come first", j)
	}
	if j := kilntest.RequireEnqueued(tb, c, to("bob")); j != nil || tb.failed != "kilntest: no matching email job among the 1102 that wait to be run" {
		t.Errorf("nobody: %+v, %q", j, tb.failed)
	}
}

func TestRequireNotEnqueued(t *testing.T) {
	store, c := newClient(t)
	tb := &recorder{ctx: t.Context()}
	kilntest.RequireNotEnqueued[email](tb, c, nil)
	ann := enqueue(t, c, email{To: "ann"})
	kilntest.RequireNotEnqueued(tb, c, to("bob"))
	kilntest.RequireNotEnqueued[letter](tb, c, nil)
	if tb.failed != "" {
		t.Errorf("failed: %q", tb.failed)
	}
	kilntest.RequireNotEnqueued(tb, c, to("ann"))
	if !strings.Contains(tb.failed, fmt.Sprintf("email job %d", ann)) || !strings.Contains(tb.failed, "To:ann") {
		t.Errorf("failed: %q", tb.failed)
	}
	// A job that runs or has run does not wait.
	if _, err := store.Claim(t.Context(), driver.ClaimQuery{Queues: []string{"mail"}, Limit: 1, Server: "s"}); err != nil {
		t.Fatal(err)
	}
	tb.failed = ""
	kilntest.RequireNotEnqueued[email](tb, c, nil)
	if tb.failed != "" {
		t.Errorf("failed: %q", tb.failed)
	}
}

func TestRequireReportsErrors(t *testing.T) {
	store, c := newClient(t)
	if _, err := store.Insert(t.Context(), []driver.InsertParams{{Kind: "email", Queue: "q", Args: []byte(`[]`), MaxAttempts: 1}}); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("over"))
	for want, ctx := range map[string]context.Context{"args of email job 1 do not decode": t.Context(), "context canceled": ended} {
		tb := &recorder{ctx: ctx}
		if kilntest.RequireEnqueued[email](tb, c, nil); !strings.Contains(tb.failed, want) {
			t.Errorf("RequireEnqueued: %q, want %q", tb.failed, want)
		}
		tb.failed = ""
		if kilntest.RequireNotEnqueued[email](tb, c, nil); !strings.Contains(tb.failed, want) {
			t.Errorf("RequireNotEnqueued: %q, want %q", tb.failed, want)
		}
	}
}
