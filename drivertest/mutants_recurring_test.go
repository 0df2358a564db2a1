package drivertest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// recurringMutants are wrong in what they do with recurring jobs and consoles.
var recurringMutants = []struct {
	name   string
	does   string
	caught string
	spoil  func(*hooked)
}{
	{"put-blind", "writes recurring jobs whatever their version", "Recurring/CAS", func(h *hooked) {
		h.putRecurring = func(ctx context.Context, r driver.Recurring) error {
			if old, err := h.Store.Recurring(ctx, r.ID); err == nil {
				r.Version = old.Version
			}
			return h.Store.PutRecurring(ctx, r)
		}
	}},
	{"put-loses-limit", "does not keep the limit of a template", "Recurring/Put", func(h *hooked) {
		editDefinitions(h, func(r *driver.Recurring) { r.Template.LimitBurst = 0 })
	}},
	{"put-seconds", "keeps next runs by the second", "Recurring/Put", func(h *hooked) {
		editDefinitions(h, func(r *driver.Recurring) { r.NextRunAt = r.NextRunAt.Truncate(time.Second) })
	}},
	{"group-kept", "does not clear a group", "Recurring/Group", func(h *hooked) {
		h.putRecurring = func(ctx context.Context, r driver.Recurring) error {
			if old, err := h.Store.Recurring(ctx, r.ID); err == nil && r.Group == "" {
				r.Group = old.Group
			}
			return h.Store.PutRecurring(ctx, r)
		}
	}},
	{"ids-folded", "does not tell recurring ids apart by case", "Recurring/IDs", func(h *hooked) {
		editDefinitions(h, func(r *driver.Recurring) { r.ID = strings.ToLower(r.ID) })
	}},
	{"due-paused", "lists paused jobs as due", "Recurring/Due", func(h *hooked) {
		editDefinitions(h, func(r *driver.Recurring) { r.Paused = false })
	}},
	{"due-never", "takes a job without a next run for due", "Recurring/Due", func(h *hooked) {
		editDefinitions(h, func(r *driver.Recurring) {
			if r.NextRunAt.IsZero() {
				r.NextRunAt = time.Unix(1, 0)
			}
		})
	}},
	{"due-unsorted", "lists due jobs by name", "Recurring/DueLimit", func(h *hooked) {
		h.due = func(ctx context.Context, limit int) ([]driver.Recurring, time.Time, error) {
			list, now, err := h.Store.Due(ctx, 1000)
			slices.SortFunc(list, func(a, b driver.Recurring) int { return strings.Compare(a.ID, b.ID) })
			return list[:min(len(list), max(limit, 1))], now, err
		}
	}},
	{"fire-blind", "fires whatever the version", "Recurring/FireConcurrent", func(h *hooked) {
		h.fire = func(ctx context.Context, f driver.Fire) ([]driver.Inserted, error) {
			for {
				if old, err := h.Store.Recurring(ctx, f.ID); err == nil {
					f.Version = old.Version
				}
				res, err := h.Store.Fire(ctx, f)
				if !errors.Is(err, driver.ErrConflict) {
					return res, err
				}
			}
		}
	}},
	{"fire-forgets", "forgets the last job with a fire of none", "Recurring/FireEmpty", func(h *hooked) {
		h.fire = func(ctx context.Context, f driver.Fire) ([]driver.Inserted, error) {
			res, err := h.Store.Fire(ctx, f)
			if r, failed := h.Store.Recurring(ctx, f.ID); err == nil && failed == nil && len(f.Jobs) == 0 {
				r.LastJobID = 0
				err = h.Store.PutRecurring(ctx, r)
			}
			return res, err
		}
	}},
	{"fire-moves-first", "moves the schedule on although the jobs are refused", "Recurring/FireInvalid", func(h *hooked) {
		h.fire = func(ctx context.Context, f driver.Fire) ([]driver.Inserted, error) {
			res, err := h.Store.Fire(ctx, f)
			if errors.Is(err, driver.ErrInvalid) {
				f.Jobs = nil
				_, _ = h.Store.Fire(ctx, f)
			}
			return res, err
		}
	}},
	{"block-all-or-none", "fires no step of a block when one conflicts", "Recurring/FireMany", func(h *hooked) {
		h.fireMany = func(ctx context.Context, fires []driver.Fire) ([]driver.FireResult, error) {
			results := make([]driver.FireResult, len(fires))
			for _, f := range fires {
				r, err := h.Store.Recurring(ctx, f.ID)
				if err != nil || r.Version != f.Version {
					for k := range results {
						results[k].Err = driver.ErrConflict
					}
					return results, nil
				}
			}
			return h.Store.FireMany(ctx, fires)
		}
	}},

	{"console-unfenced", "takes lines of an older claim", "Console/Fencing", func(h *hooked) {
		h.writeConsole = func(ctx context.Context, ref driver.Ref, lines []string, progress int) error {
			if r, err := h.Store.Job(ctx, ref.ID); err == nil && r.State == driver.Processing {
				ref.Claim = r.Claim
			}
			return h.Store.WriteConsole(ctx, ref, lines, progress)
		}
	}},
	{"console-silent-loss", "says nothing when a write without lines is lost", "Console/Fencing", func(h *hooked) {
		h.writeConsole = func(ctx context.Context, ref driver.Ref, lines []string, progress int) error {
			err := h.Store.WriteConsole(ctx, ref, lines, progress)
			if len(lines) == 0 {
				return nil
			}
			return err
		}
	}},
	{"console-trims", "trims lines", "Console/Order", func(h *hooked) {
		h.writeConsole = func(ctx context.Context, ref driver.Ref, lines []string, progress int) error {
			lines = slices.Clone(lines)
			for i := range lines {
				lines[i] = strings.TrimSpace(lines[i])
			}
			return h.Store.WriteConsole(ctx, ref, lines, progress)
		}
	}},
	{"console-drops-empty", "drops empty lines", "Console/Order", func(h *hooked) {
		h.writeConsole = func(ctx context.Context, ref driver.Ref, lines []string, progress int) error {
			lines = slices.DeleteFunc(slices.Clone(lines), func(s string) bool { return s == "" })
			return h.Store.WriteConsole(ctx, ref, lines, progress)
		}
	}},
	{"logs-inclusive", "pages from the line that was last", "Console/Order", func(h *hooked) {
		h.logs = func(ctx context.Context, id, after int64, limit int) ([]driver.LogLine, error) {
			return h.Store.Logs(ctx, id, after-1, limit)
		}
	}},
	{"progress-resets", "sets the progress to 0 with every line", "Console/Progress", func(h *hooked) {
		h.writeConsole = func(ctx context.Context, ref driver.Ref, lines []string, progress int) error {
			return h.Store.WriteConsole(ctx, ref, lines, max(progress, 0))
		}
	}},
}

func init() {
	for _, m := range recurringMutants {
		mutants = append(mutants, m)
	}
}

// editDefinitions changes every definition on its way in.
func editDefinitions(h *hooked, edit func(*driver.Recurring)) {
	h.putRecurring = func(ctx context.Context, r driver.Recurring) error {
		edit(&r)
		return h.Store.PutRecurring(ctx, r)
	}
}
