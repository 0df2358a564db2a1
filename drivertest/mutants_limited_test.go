package drivertest_test

import (
	"context"
	"strings"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func init() { mutants = append(mutants, limitedMutants...) }

// limitedMutants are wrong in what they do with unique keys and limits.
var limitedMutants = []mutant{
	{"key-folded", "does not tell unique keys apart by case", "Unique/Bytes", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) { p.UniqueKey = []byte(strings.ToLower(string(p.UniqueKey))) })
	}},
	{"key-of-kind", "holds a unique key per kind", "Unique/Held/states", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) {
			if len(p.UniqueKey) > 0 {
				p.UniqueKey = append([]byte(p.Kind), p.UniqueKey...)
			}
		})
	}},
	{"key-kept", "does not release the key of a job that ended", "Unique/Released/exits", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) {
			if len(p.UniqueKey) > 0 && p.UniqueFor == 0 {
				p.UniqueFor = time.Hour
			}
		})
	}},
	{"window-short", "ends a window 5 ms too soon", "Unique/Window", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) {
			if p.UniqueFor > 5*time.Millisecond {
				p.UniqueFor -= 6 * time.Millisecond
			}
		})
	}},
	{"window-released", "releases a window when the job ends", "Unique/Window", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) { p.UniqueFor = 0 })
	}},
	{"replace-ignored", "never replaces", "Unique/Replace", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) { p.UniqueReplace = false })
	}},
	{"replace-fills", "keeps the holder's title where the newcomer has none", "Unique/Replace", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) {
			if p.UniqueReplace && p.Title == "" {
				p.Title = "new title"
			}
		})
	}},
	{"replace-unsaid", "does not say that a holder was replaced", "Unique/ReplaceStates/states", func(h *hooked) {
		editInserted(h, func(r *driver.Inserted) { r.Replaced = false })
	}},
	{"repeat-replaces", "lets a repeat inside of one call replace the first one", "Unique/InCall", func(h *hooked) {
		h.insert = func(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
			var out []driver.Inserted
			for _, p := range jobs {
				if len(p.Parents) > 0 || len(jobs) > 10 {
					return h.Store.Insert(ctx, jobs)
				}
				res, err := h.Store.Insert(ctx, []driver.InsertParams{p})
				if err != nil {
					return nil, err
				}
				out = append(out, res...)
			}
			return out, nil
		}
	}},
	{"debounce-once", "does not set the run time anew", "Unique/Debounce", func(h *hooked) {
		h.insert = func(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
			for i := range jobs {
				if jobs[i].UniqueDebounce > 0 {
					jobs[i].Delay, jobs[i].UniqueDebounce = jobs[i].UniqueDebounce, 0
				}
			}
			return h.Store.Insert(ctx, jobs)
		}
	}},
	{"requeue-steals", "requeues a job whose key another one holds", "Unique/Requeue", func(h *hooked) {
		h.requeue = func(ctx context.Context, f driver.Filter) (int, error) {
			n, err := h.Store.Requeue(ctx, f)
			if n == 0 && len(f.IDs) == 1 {
				n = 1
			}
			return n, err
		}
	}},

	{"max-ignored", "lets one more job in than Max", "Limits/Admission", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) {
			if p.LimitMax > 0 {
				p.LimitMax++
			}
		})
	}},
	{"max-first", "keeps the rule of the first insert", "Limits/Max", func(h *hooked) {
		rules := map[string]int{}
		editInserts(h, func(p *driver.InsertParams) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if _, ok := rules[p.LimitKey]; !ok {
				rules[p.LimitKey] = p.LimitMax
			}
			p.LimitMax = rules[p.LimitKey]
		})
	}},
	{"admits-by-id", "admits without regard to priority", "Limits/Order", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) {
			if p.LimitKey != "" {
				p.Priority = 0
			}
		})
	}},
	{"limit-folded", "does not tell limit keys apart by trailing spaces", "Limits/Bytes", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) { p.LimitKey = strings.TrimRight(p.LimitKey, " \t") })
	}},
	{"limit-forgotten", "prunes a rule that is still named", "Limits/Archived", func(h *hooked) {
		h.prune = func(ctx context.Context, p driver.PruneParams) (int, error) {
			n, err := h.Store.Prune(ctx, p)
			return n + 1, err
		}
	}},
	{"burst-ignored", "never starts two jobs back to back", "Rate/Burst", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) { p.LimitBurst = min(p.LimitBurst, 1) })
	}},
	{"rate-ignored", "starts rated jobs without spacing", "Rate/Spacing", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) {
			if p.LimitRate > 0 {
				p.LimitMax, p.LimitRate, p.LimitPer, p.LimitBurst = 1000, 0, 0, 0
			}
		})
	}},
	{"rate-late", "promotes reserved starts a tenth too late", "Rate/Spacing", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) { p.LimitPer += p.LimitPer / 5 })
	}},
	{"rate-capped", "caps rated jobs at their rate", "Rate/Unlimited", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) {
			if p.LimitRate > 0 && p.LimitMax == 0 {
				p.LimitMax = p.LimitRate
			}
		})
	}},
}

// editInserted changes what inserts return.
func editInserted(h *hooked, edit func(*driver.Inserted)) {
	h.insert = func(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
		res, err := h.Store.Insert(ctx, jobs)
		for i := range res {
			edit(&res[i])
		}
		return res, err
	}
}
