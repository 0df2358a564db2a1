package drivertest_test

import (
	"context"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

func init() { mutants = append(mutants, readerMutants...) }

// readerMutants are wrong in what they say needs a person, or why a job is where it is.
var readerMutants = []mutant{
	{"problems-invented", "lists every server as silent", "Inspect/Problems/none", func(h *hooked) {
		editProblems(h, func(p *driver.Problems) { p.Silent, _ = h.Store.Servers(context.Background()) })
	}},
	{"retries-fail", "counts jobs that are to be tried again among the failed ones", "Inspect/Problems/none", func(h *hooked) {
		editProblems(h, func(p *driver.Problems) {
			page, _ := h.Store.Jobs(context.Background(), driver.JobQuery{State: driver.Scheduled})
			for _, r := range page.Records {
				p.Failures = append(p.Failures, driver.KindFailures{Kind: r.Kind})
			}
		})
	}},
	{"unserved-oldest", "takes the newest job for the one that waits longest", "Inspect/Problems/unserved", func(h *hooked) {
		editProblems(h, func(p *driver.Problems) {
			for i := range p.Unserved {
				p.Unserved[i].Job += p.Unserved[i].Ready - 1
			}
		})
	}},
	{"served-by-kind", "calls a queue unserved when its server handles another kind", "Inspect/Problems/unserved", func(h *hooked) {
		editProblems(h, func(p *driver.Problems) {
			for _, k := range p.Unhandled {
				p.Unserved = append(p.Unserved, driver.ReadyQueue{Queue: k.Queue, Since: k.Since, Job: k.Job, Ready: k.Ready})
			}
		})
	}},
	{"handled-anywhere", "calls a kind handled when a server of another queue handles it", "Inspect/Problems/unhandled", func(h *hooked) {
		editProblems(h, func(p *driver.Problems) {
			servers, _ := h.Store.Servers(context.Background())
			p.Unhandled = slices.DeleteFunc(p.Unhandled, func(k driver.ReadyKind) bool {
				return slices.ContainsFunc(servers, func(s driver.ServerInfo) bool { return slices.Contains(s.Kinds, k.Kind) })
			})
		})
	}},
	{"oldest-paused", "lists paused queues among the oldest", "Inspect/Problems/oldest", func(h *hooked) {
		editProblems(h, func(p *driver.Problems) {
			for _, q := range p.Paused {
				p.Oldest = append(p.Oldest, driver.ReadyQueue{Queue: q.Queue, Since: q.Since})
			}
		})
	}},
	{"silent-late", "takes a server for silent after five minutes", "Inspect/Problems/silent", func(h *hooked) {
		editProblems(h, func(p *driver.Problems) {
			p.Silent = slices.DeleteFunc(p.Silent, func(s driver.ServerInfo) bool { return p.At.Sub(s.HeartbeatAt) < 5*time.Minute })
		})
	}},
	{"pause-anew", "takes the last call for the beginning of a pause", "Inspect/Problems/paused", func(h *hooked) {
		h.pauseQueue = func(ctx context.Context, queue string, paused bool) error {
			if paused {
				_ = h.Store.PauseQueue(ctx, queue, false)
			}
			return h.Store.PauseQueue(ctx, queue, paused)
		}
	}},
	{"failures-first", "shows the oldest failure instead of the newest", "Inspect/Problems/failures", func(h *hooked) {
		editProblems(h, func(p *driver.Problems) {
			for i := range p.Failures {
				p.Failures[i].Last = p.Failures[i].First
			}
		})
	}},
	{"failures-by-kind", "lists failures by kind", "Inspect/Problems/failures", func(h *hooked) {
		editProblems(h, func(p *driver.Problems) {
			slices.SortFunc(p.Failures, func(a, b driver.KindFailures) int { return int(a.Kind[0]) - int(b.Kind[0]) })
		})
	}},
	{"trend-sum", "counts the hour before among the last one", "Inspect/Problems/trend", func(h *hooked) {
		editProblems(h, func(p *driver.Problems) {
			for i := range p.Failures {
				p.Failures[i].LastHour += p.Failures[i].HourBefore
			}
		})
	}},
	{"problems-all", "knows no limit", "Inspect/Problems/limit", func(h *hooked) {
		h.problems = func(ctx context.Context, _ int) (driver.Problems, error) { return h.Store.Problems(ctx, 500) }
	}},
	{"held-free", "lists limit keys that hold nothing back", "Limits/Problems", func(h *hooked) {
		editProblems(h, func(p *driver.Problems) {
			infos, _ := h.Store.Limits(context.Background(), "", 0)
			for _, info := range infos {
				p.Held = append(p.Held, driver.HeldKey{LimitInfo: info})
			}
		})
	}},
	{"held-by-key", "lists held keys by name", "Limits/Problems", func(h *hooked) {
		editProblems(h, func(p *driver.Problems) {
			slices.SortFunc(p.Held, func(a, b driver.HeldKey) int { return int(a.Key[0]) - int(b.Key[0]) })
		})
	}},
	{"late-paused", "calls paused recurring jobs late", "Recurring/Problems/late", func(h *hooked) {
		editProblems(h, func(p *driver.Problems) {
			all, _ := h.Store.Recurrings(context.Background())
			for _, r := range all {
				if r.Paused && storekit.Late(false, r.NextRunAt, p.At) {
					p.Recurring = append(p.Recurring, driver.RecurringProblem{ID: r.ID, Late: true, NextRunAt: r.NextRunAt})
				}
			}
		})
	}},
	{"late-at-once", "calls what is due late", "Recurring/Problems/late", func(h *hooked) {
		editProblems(h, func(p *driver.Problems) {
			due, _, _ := h.Store.Due(context.Background(), 100)
			p.Recurring = nil
			for _, r := range due {
				p.Recurring = append(p.Recurring, driver.RecurringProblem{ID: r.ID, Late: true, NextRunAt: r.NextRunAt})
			}
		})
	}},
	{"failed-before-late", "lists failed runs before late ones", "Recurring/Problems/failed", func(h *hooked) {
		editProblems(h, func(p *driver.Problems) { slices.Reverse(p.Recurring) })
	}},

	{"pages-empty", "answers a filter with an empty page that says there is more", "Inspect/JobsFar", func(h *hooked) {
		h.jobs = func(ctx context.Context, q driver.JobQuery) (driver.Page, error) {
			if q.Tag != "" && q.Cursor == "" {
				page, err := h.Store.Jobs(ctx, driver.JobQuery{State: q.State, Limit: 1})
				page.Records = nil
				return page, err
			}
			return h.Store.Jobs(ctx, q)
		}
	}},
	{"batch-by-id", "lists the members of a batch by id", "Inspect/JobsBatch", func(h *hooked) {
		h.jobs = func(ctx context.Context, q driver.JobQuery) (driver.Page, error) {
			page, err := h.Store.Jobs(ctx, q)
			if q.BatchID > 0 {
				slices.SortFunc(page.Records, func(a, b driver.Record) int { return int(a.ID - b.ID) })
			}
			return page, err
		}
	}},

	{"explains-ended", "says that an ended job's queue is paused", "Inspect/Explain/ended", func(h *hooked) {
		editExplanations(h, func(id int64, x *driver.Explanation) {
			x.PausedAt = pausedSince(h, id)
			x.Paused = !x.PausedAt.IsZero()
		})
	}},
	{"parents-all", "lists parents that have ended as it was asked for", "Inspect/Explain/parents", func(h *hooked) {
		editExplanations(h, func(id int64, x *driver.Explanation) {
			if r, err := h.Store.Job(context.Background(), id); err == nil {
				x.OpenParents = len(r.Parents)
			}
		})
	}},
	{"parents-met", "counts only the parents that it lists", "Inspect/Explain/manyParents", func(h *hooked) {
		editExplanations(h, func(_ int64, x *driver.Explanation) { x.OpenParents = len(x.Parents) })
	}},
	{"batch-flat", "counts a batch's jobs without the batches nested in it", "Inspect/Explain/batch", func(h *hooked) {
		editExplanations(h, func(_ int64, x *driver.Explanation) {
			if b, err := h.Store.Batch(context.Background(), x.AfterBatch); err == nil {
				x.BatchLive -= b.Nested - b.NestedFinished
			}
		})
	}},
	{"expects-now", "expects a scheduled job at once", "Inspect/Explain/scheduled", func(h *hooked) {
		editExplanations(h, func(_ int64, x *driver.Explanation) { x.ExpectedAt = x.At })
	}},
	{"ahead-itself", "counts a job among those ahead of it", "Inspect/Explain/enqueued", func(h *hooked) {
		editExplanations(h, func(_ int64, x *driver.Explanation) {
			if x.State == driver.Enqueued {
				x.Ahead++
			}
		})
	}},
	{"ahead-uncapped", "goes on counting", "Inspect/Explain/aheadCap", func(h *hooked) {
		editExplanations(h, func(_ int64, x *driver.Explanation) {
			if x.Ahead == driver.AheadCap {
				x.Ahead++
			}
		})
	}},
	{"pause-of-ready", "knows the pause of enqueued jobs only", "Inspect/Explain/paused", func(h *hooked) {
		editExplanations(h, func(_ int64, x *driver.Explanation) {
			if x.State != driver.Enqueued {
				x.Paused, x.PausedAt = false, time.Time{}
			}
		})
	}},
	{"kind-by-queue", "takes a kind for served with its queue", "Inspect/Explain/served", func(h *hooked) {
		editExplanations(h, func(_ int64, x *driver.Explanation) { x.KindServed = x.QueueServed })
	}},
	{"served-for-ever", "takes silent servers for live ones", "Inspect/Explain/silent", func(h *hooked) {
		editExplanations(h, func(_ int64, x *driver.Explanation) {
			servers, _ := h.Store.Servers(context.Background())
			x.QueueServed, x.KindServed = len(servers) > 0, len(servers) > 0
		})
	}},
	{"heartbeat-of-anybody", "shows the heartbeat of some server", "Inspect/Explain/processing", func(h *hooked) {
		editExplanations(h, func(_ int64, x *driver.Explanation) {
			if servers, _ := h.Store.Servers(context.Background()); len(servers) > 0 {
				x.HeartbeatAt = servers[len(servers)-1].HeartbeatAt
			}
		})
	}},
	{"line-by-id", "counts the line of a key by id", "Limits/Explain/full", func(h *hooked) {
		editExplanations(h, func(id int64, x *driver.Explanation) {
			page, _ := h.Store.Jobs(context.Background(), driver.JobQuery{State: driver.Throttled, Limit: 500})
			x.Ahead = 0
			for _, r := range page.Records {
				if x.Limit != nil && r.LimitKey == x.Limit.Key && r.ID < id {
					x.Ahead++
				}
			}
		})
	}},
	{"limit-of-throttled", "shows the limit of throttled jobs only", "Limits/Explain/states", func(h *hooked) {
		editExplanations(h, func(_ int64, x *driver.Explanation) {
			if x.State != driver.Throttled {
				x.Limit = nil
			}
		})
	}},
	{"expects-next-start", "expects every job of a key at its next start", "Rate/Explain", func(h *hooked) {
		editExplanations(h, func(_ int64, x *driver.Explanation) {
			if x.State == driver.Throttled {
				x.ExpectedAt = x.Limit.NextStart
			}
		})
	}},
}

// editProblems changes what Problems returns.
func editProblems(h *hooked, edit func(*driver.Problems)) {
	h.problems = func(ctx context.Context, limit int) (driver.Problems, error) {
		p, err := h.Store.Problems(ctx, limit)
		edit(&p)
		return p, err
	}
}

// editExplanations changes what Explain returns.
func editExplanations(h *hooked, edit func(int64, *driver.Explanation)) {
	h.explain = func(ctx context.Context, id int64) (driver.Explanation, error) {
		x, err := h.Store.Explain(ctx, id)
		if err == nil {
			edit(id, &x)
		}
		return x, err
	}
}

// pausedSince is since when the queue of a job is paused.
func pausedSince(h *hooked, id int64) time.Time {
	r, err := h.Store.Job(context.Background(), id)
	if err != nil {
		return time.Time{}
	}
	queues, _ := h.Store.Queues(context.Background())
	for _, q := range queues {
		if q.Name == r.Queue {
			return q.PausedAt
		}
	}
	return time.Time{}
}
