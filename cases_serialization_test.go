package kiln_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
)

// A checkpoint is stored when SetParam returns, so that at most one item is done again; an older run's is refused.
func TestCaseB040(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		done := map[int]int{}
		late := make(chan error, 1)
		r.handle(func(ctx context.Context, j *kiln.Job[task]) error {
			next := 0
			if _, err := j.Param("next", &next); err != nil {
				return err
			}
			for ; next < 100; next++ {
				done[next]++
				if err := j.SetParam(ctx, "next", next+1); err != nil {
					return err
				}
				if next%10 == 9 && next < 99 {
					return errors.New("interrupted")
				}
			}
			if j.Attempt == 10 { // the job is somebody else's now
				ref := r.job(j.ID).Ref
				if _, err := r.mem.Finish(ctx, "x", []driver.Outcome{{Ref: ref, State: kiln.Failed, Reason: "taken"}}); err != nil {
					return err
				}
				late <- j.SetParam(ctx, "next", 0)
			}
			return nil
		}, kiln.Constant(0))
		r.start(kiln.ServerConfig{Queues: map[string]int{"default": 1}})
		id := r.enqueue()
		pass(time.Minute)
		for n := range 100 {
			if done[n] != 1 {
				t.Errorf("item %d was done %d times", n, done[n])
			}
		}
		if err := <-late; !errors.Is(err, kiln.ErrLost) || r.job(id).Meta["next"] != "100" {
			t.Errorf("late checkpoint: %v, meta %v", err, r.job(id).Meta)
		}
	})
}

// Jobs of a kind that was renamed wait untouched, and run where a handler has the old name beside the new one.
func TestCaseB041(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		h := func(context.Context, *kiln.RawJob) error { return nil }
		r.mux.HandleFunc("new", h)
		id, err := r.client.Enqueue(t.Context(), badKind{"old"})
		if err != nil {
			t.Fatal(err)
		}
		s := r.start(kiln.ServerConfig{})
		pass(2 * time.Hour)
		if rec := r.want(id, kiln.Enqueued); rec.Attempt != 0 {
			t.Errorf("attempt %d", rec.Attempt)
		}
		s.end()
		r.mux = kiln.NewMux()
		r.mux.HandleFunc("new", h)
		r.mux.HandleFunc("old", h)
		r.start(kiln.ServerConfig{})
		pass(time.Second)
		r.want(id, kiln.Succeeded)
	})
}
