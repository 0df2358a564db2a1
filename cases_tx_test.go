package kiln_test

import (
	"context"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
)

// A job that is committed late, with a smaller id than others that have run meanwhile, is not passed over.
func TestCaseB058(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		r.start(kiln.ServerConfig{})
		tx := r.mem.Begin()
		late, err := r.client.EnqueueTx(t.Context(), tx, task{1})
		if err != nil {
			t.Fatal(err)
		}
		later, err := r.client.EnqueueTx(t.Context(), tx, task{2}, kiln.Delay(10*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		younger := r.enqueue()
		scheduled := r.enqueue(kiln.Delay(10 * time.Second))
		if younger < late || scheduled < later {
			t.Fatalf("ids %d and %d after %d and %d", younger, scheduled, late, later)
		}
		pass(30 * time.Second)
		r.want(younger, kiln.Succeeded)
		r.want(scheduled, kiln.Succeeded)
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		r.want(late, kiln.Succeeded)
		r.want(later, kiln.Succeeded)
	})
}
