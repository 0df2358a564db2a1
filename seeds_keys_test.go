package kiln_test

import (
	"context"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
)

// The samples about unique keys and limits.

// WeeklyReport is a job of the samples.
type WeeklyReport struct{ Version int }

func (WeeklyReport) Kind() string { return "weekly_report" }

func TestSampleUnique(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ctx, client, key := t.Context(), r.client, "weekly"
		var ran []int
		kiln.Handle(r.mux, func(_ context.Context, j *kiln.Job[WeeklyReport]) error {
			ran = append(ran, j.Args.Version)
			return nil
		})

		first, _ := client.Enqueue(ctx, WeeklyReport{1}, kiln.Unique{Key: key})
		again, _ := client.Enqueue(ctx, WeeklyReport{2}, kiln.Unique{Key: key})
		replaced, _ := client.Enqueue(ctx, WeeklyReport{3}, kiln.Unique{Key: key, Replace: true})

		if again != first || replaced != first {
			t.Errorf("jobs %d, %d and %d, want one", first, again, replaced)
		}
		r.start(kiln.ServerConfig{})
		pass(time.Second)
		if len(ran) != 1 || ran[0] != 3 {
			t.Errorf("ran with %v, want the latest data once", ran)
		}
		next, err := client.Enqueue(ctx, WeeklyReport{4}, kiln.Unique{Key: key, For: 10 * time.Minute})
		if err != nil || next == first {
			t.Errorf("the key is not released: %d, %v", next, err)
		}
		pass(time.Minute)
		inside, _ := client.Enqueue(ctx, WeeklyReport{5}, kiln.Unique{Key: key, For: 10 * time.Minute})
		pass(10 * time.Minute)
		behind, _ := client.Enqueue(ctx, WeeklyReport{6}, kiln.Unique{Key: key, For: 10 * time.Minute})
		if inside != next || behind == next {
			t.Errorf("jobs %d, %d inside of the window and %d behind it", next, inside, behind)
		}
	})
}

func TestSampleDebounce(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ctx, client, key, d := t.Context(), r.client, "reindex", 30*time.Second
		ran := make(chan int, 10)
		kiln.Handle(r.mux, func(_ context.Context, j *kiln.Job[WeeklyReport]) error {
			ran <- j.Args.Version
			return nil
		})
		r.start(kiln.ServerConfig{})
		for n := range 10 {
			if _, err := client.Enqueue(ctx, WeeklyReport{n}, kiln.Unique{Key: key, Debounce: d}); err != nil {
				t.Fatal(err)
			}
			pass(10 * time.Second)
		}
		if n := len(ran); n != 0 {
			t.Errorf("%d ran while the edits went on", n)
		}
		pass(d)
		if n := len(ran); n != 1 || <-ran != 9 {
			t.Errorf("%d ran, want the last one once", n)
		}
	})
}

func TestSampleLimit(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ctx, client := t.Context(), r.client
		var starts []time.Time
		kiln.Handle(r.mux, func(context.Context, *kiln.Job[ChargeCard]) error {
			starts = append(starts, time.Now())
			return nil
		})
		r.start(kiln.ServerConfig{Queues: map[string]int{"default": 1}})
		for id := range 500 {
			client.Enqueue(ctx, ChargeCard{OrderID: id}, kiln.Limit{Key: "stripe", Rate: 100, Per: time.Second})
		}
		pass(10 * time.Second)
		if len(starts) != 500 {
			t.Fatalf("%d of 500 jobs ran", len(starts))
		}
		for i := 201; i < len(starts); i++ {
			if starts[i].Sub(starts[i-201]) <= time.Second {
				t.Fatalf("more than 200 starts in the second from %s", starts[i-201])
			}
		}
		if took := starts[499].Sub(starts[0]); took < 3900*time.Millisecond || took > 4500*time.Millisecond {
			t.Errorf("500 jobs at 100 a second, 100 of them at once, took %s", took)
		}
	})
}
