package drivertest_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/kilnjobs/kiln/driver"
)

func init() { mutants = append(mutants, flowMutants...) }

// flowMutants are wrong about dependencies and batches.
var flowMutants = []mutant{
	{"parents-forgotten", "enqueues jobs without waiting for their parents", "Deps/Continuation", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) { p.Parents = nil })
	}},
	{"masks-ignored", "releases children after any end of their parents", "Deps/Masks", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) {
			p.Parents = slices.Clone(p.Parents)
			for i := range p.Parents {
				p.Parents[i].On = driver.OnFinished
			}
		})
	}},
	{"masks-not-joined", "takes the last mask of a parent that is named twice", "Deps/MasksJoined", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) {
			last := map[int64]driver.Mask{}
			for _, parent := range p.Parents {
				last[parent.ID] = parent.On
			}
			p.Parents = slices.Clone(p.Parents)
			for i := range p.Parents {
				p.Parents[i].On = last[p.Parents[i].ID]
			}
		})
	}},
	{"dooms-unnamed", "does not say which parent doomed a job", "Deps/Cascade", func(h *hooked) {
		editRecords(h, func(r *driver.Record) {
			for i := range r.History {
				if strings.HasPrefix(r.History[i].Reason, "parent ") {
					r.History[i].Reason = "parent deleted"
				}
			}
		})
	}},
	{"children-resolved", "lists only the children that still wait", "Deps/FinalParent", func(h *hooked) {
		editRecords(h, func(r *driver.Record) {
			r.Children = slices.DeleteFunc(r.Children, func(id int64) bool {
				child, err := h.Store.Job(context.Background(), id)
				return err == nil && child.State != driver.Awaiting
			})
		})
	}},
	{"parents-missing", "waits for no parent that does not exist", "Deps/MissingParent", func(h *hooked) {
		retryInserts(h, driver.ErrNotFound, func(p *driver.InsertParams) { p.Parents = nil })
	}},
	{"run-time-reset", "gives released jobs the moment of their release as their run time", "Deps/Resume/delay", func(h *hooked) {
		editRecords(h, func(r *driver.Record) {
			if len(r.Parents) > 0 && r.State == driver.Enqueued {
				r.RunAt = h.now().UTC()
			}
		})
	}},
	{"never-sweeps", "leaves what was too much for one call", "Deps/Wide", func(h *hooked) {
		h.sweep = func(context.Context, int) (int, error) { return 0, nil }
	}},
	{"sweeps-always", "says that each sweep repaired something", "Coordinate/Sweep/flows", func(h *hooked) {
		h.sweep = func(ctx context.Context, limit int) (int, error) {
			n, err := h.Store.Sweep(ctx, limit)
			return n + 1, err
		}
	}},
	{"seals-nothing", "does not finish a batch at its seal", "Batch/SealAfter", func(h *hooked) {
		h.sealBatch = func(context.Context, int64) error { return nil }
	}},
	{"failed-is-done", "takes a failed member for done", "Batch/FailedMember", func(h *hooked) {
		editBatches(h, func(b *driver.Batch) {
			if b.Sealed && b.Counts[driver.Failed] > 0 && b.FinishedAt.IsZero() {
				b.FinishedAt = h.now().UTC()
			}
		})
	}},
	{"joins-closed", "lets jobs join a batch that has finished", "Batch/Attach", func(h *hooked) {
		retryInserts(h, driver.ErrClosed, func(p *driver.InsertParams) { p.BatchID = 0 })
	}},
	{"counts-zeros", "lists states without members", "Batch/Counts", func(h *hooked) {
		editBatches(h, func(b *driver.Batch) { b.Counts[driver.Throttled] += 0 })
	}},
	{"counts-archived", "leaves archived members out of the counts", "Batch/CountsBulk", func(h *hooked) {
		editBatches(h, func(b *driver.Batch) { delete(b.Counts, driver.Succeeded) })
	}},
	{"seals-anew", "stamps a finished batch again when it is sealed again", "Batch/SealBefore", func(h *hooked) {
		seals := map[int64]int{}
		h.sealBatch = func(ctx context.Context, id int64) error {
			h.mu.Lock()
			defer h.mu.Unlock()
			seals[id]++
			return h.Store.SealBatch(ctx, id)
		}
		editBatches(h, func(b *driver.Batch) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if seals[b.ID] > 2 {
				b.FinishedAt = h.now().UTC()
			}
		})
	}},
	{"nested-total", "counts nested batches among the jobs of a batch", "Batch/Nested", func(h *hooked) {
		editBatches(h, func(b *driver.Batch) { b.Total += b.Nested })
	}},
	{"batches-die-young", "prunes finished batches whatever the retention", "Coordinate/PruneBatches", func(h *hooked) {
		h.prune = func(ctx context.Context, p driver.PruneParams) (int, error) {
			if p.Succeeded > 0 {
				p.Deleted, p.Succeeded = 0, -1
			}
			return h.Store.Prune(ctx, p)
		}
	}},
	{"states-of-live-jobs", "leaves out jobs that have ended", "Inspect/States", func(h *hooked) {
		h.states = func(ctx context.Context, ids []int64) (map[int64]driver.State, error) {
			all, err := h.Store.States(ctx, ids)
			maps.DeleteFunc(all, func(_ int64, s driver.State) bool { return s.Archived() })
			return all, err
		}
	}},
	{"runs-from-the-last-claim", "says that every attempt began with the latest claim", "Inspect/Runs", func(h *hooked) {
		h.runs = func(ctx context.Context, id int64) ([]driver.Run, error) {
			runs, err := h.Store.Runs(ctx, id)
			for i := range runs {
				runs[i].StartedAt = runs[len(runs)-1].StartedAt
			}
			return runs, err
		}
	}},
	{"errors-of-the-last-entry", "returns errors of newest entries only, though operators leave none", "Inspect/LastErrors", func(h *hooked) {
		h.lastErrors = func(ctx context.Context, ids []int64) (map[int64]string, error) {
			all := map[int64]string{}
			for _, id := range ids {
				if r, err := h.Store.Job(ctx, id); err == nil && len(r.History) > 0 && r.History[len(r.History)-1].Error != "" {
					all[id] = r.History[len(r.History)-1].Error
				}
			}
			return all, nil
		}
	}},
	{"outputs-of-all", "returns the outputs of deleted jobs too", "Inspect/Outputs", func(h *hooked) {
		h.outputs = func(ctx context.Context, ids []int64) (map[int64][]byte, error) {
			all := map[int64][]byte{}
			for _, id := range ids {
				if r, err := h.Store.Job(ctx, id); err == nil && r.Output != nil {
					all[id] = r.Output
				}
			}
			return all, nil
		}
	}},
}

// retryInserts inserts what was refused with an error once more, edited.
func retryInserts(h *hooked, refused error, edit func(*driver.InsertParams)) {
	h.insert = func(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
		res, err := h.Store.Insert(ctx, jobs)
		if !errors.Is(err, refused) {
			return res, err
		}
		jobs = slices.Clone(jobs)
		for i := range jobs {
			edit(&jobs[i])
		}
		return h.Store.Insert(ctx, jobs)
	}
}

func editBatches(h *hooked, edit func(*driver.Batch)) {
	h.batch = func(ctx context.Context, id int64) (driver.Batch, error) {
		b, err := h.Store.Batch(ctx, id)
		if err == nil {
			edit(&b)
		}
		return b, err
	}
}
