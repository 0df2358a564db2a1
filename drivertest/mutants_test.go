package drivertest_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/memstore"
)

// mutant is a store with one mistake, and the case that has to find it.
type mutant struct {
	name   string
	does   string
	caught string
	spoil  func(*hooked)
}

// mutants are stores with one mistake each, and the case that has to find it.
var mutants = []mutant{
	// Writer.
	{"ids-backwards", "returns the results of an insert in the wrong order", "Insert/IDs", func(h *hooked) {
		h.insert = func(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
			res, err := h.Store.Insert(ctx, jobs)
			slices.Reverse(res)
			return res, err
		}
	}},
	{"partial-insert", "stores the valid jobs of a refused call", "Insert/Invalid", func(h *hooked) {
		h.insert = func(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
			res, err := h.Store.Insert(ctx, jobs)
			if err != nil {
				for _, j := range jobs {
					_, _ = h.Store.Insert(ctx, []driver.InsertParams{j})
				}
			}
			return res, err
		}
	}},
	{"args-compacted", "normalises the JSON of args", "Insert/Fields/args", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) {
			var b bytes.Buffer
			if json.Compact(&b, p.Args) == nil {
				p.Args = b.Bytes()
			}
		})
	}},
	{"args-shared", "keeps the caller's slice of tags", "Insert/Fields/copies", func(h *hooked) {
		given := map[int64][]string{}
		h.insert = func(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			res, err := h.Store.Insert(ctx, jobs)
			for i, r := range res {
				given[r.ID] = jobs[i].Tags
			}
			return res, err
		}
		editRecords(h, func(r *driver.Record) {
			h.mu.Lock()
			defer h.mu.Unlock()
			r.Tags = given[r.ID]
		})
	}},
	{"title-bytes", "cuts titles to 100 bytes", "Insert/Title/cut", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) { p.Title = p.Title[:min(len(p.Title), 100)] })
	}},
	{"delay-added", "adds a Delay to an explicit RunAt", "Insert/RunAt/given", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) {
			if !p.RunAt.IsZero() {
				p.RunAt = p.RunAt.Add(p.Delay)
			}
		})
	}},
	{"seconds", "keeps run times by the second", "Insert/RunAt/given", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) { p.RunAt = p.RunAt.Truncate(time.Second) })
	}},
	{"timeout-cut", "rounds timeouts down", "Insert/Fields/timeouts", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) {
			if p.Timeout > 0 {
				p.Timeout = p.Timeout.Truncate(time.Millisecond)
			}
		})
	}},
	{"tags-sorted", "sorts tags", "Insert/Fields/plain", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) { p.Tags = slices.Sorted(slices.Values(p.Tags)) })
	}},
	{"queues-folded", "does not tell queue names apart by case", "Claim/Bytes", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) { p.Queue = strings.ToLower(p.Queue) })
		editClaims(h, func(q *driver.ClaimQuery) {
			for i, name := range q.Queues {
				q.Queues[i] = strings.ToLower(name)
			}
		})
	}},
	{"kinds-trimmed", "does not tell kinds apart by trailing spaces", "Claim/Bytes", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) { p.Kind = strings.TrimRight(p.Kind, " ") })
		editClaims(h, func(q *driver.ClaimQuery) {
			for i, name := range q.Kinds {
				q.Kinds[i] = strings.TrimRight(name, " ")
			}
		})
	}},

	// Worker.
	{"claims-by-id", "claims without regard to priority", "Claim/Order", func(h *hooked) {
		editClaimed(h, func(jobs []driver.Job) []driver.Job {
			slices.SortFunc(jobs, func(a, b driver.Job) int { return cmp.Compare(a.ID, b.ID) })
			return jobs
		})
	}},
	{"watermark", "never looks below the highest id that it claimed", "Claim/OrderBack", func(h *hooked) {
		highest := int64(0)
		h.claim = func(ctx context.Context, q driver.ClaimQuery) ([]driver.Job, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			jobs, err := h.Store.Claim(ctx, q)
			if n := len(jobs); n > 0 && jobs[n-1].ID < highest && jobs[0].Priority == 0 {
				younger, err := h.Store.Claim(ctx, q)
				if len(younger) > 0 {
					return younger, err
				}
			}
			for _, j := range jobs {
				highest = max(highest, j.ID)
			}
			return jobs, err
		}
	}},
	{"claims-short", "returns one job less than are ready", "Claim/Full", func(h *hooked) {
		editClaims(h, func(q *driver.ClaimQuery) {
			if q.Limit > 100 {
				q.Limit--
			}
		})
	}},
	{"limit-zero", "claims one job for a Limit of 0", "Claim/Limit", func(h *hooked) {
		editClaims(h, func(q *driver.ClaimQuery) { q.Limit = max(q.Limit, 1) })
	}},
	{"any-kind", "claims jobs of kinds that were not listed", "Claim/Kinds", func(h *hooked) {
		editClaims(h, func(q *driver.ClaimQuery) { q.Kinds = nil })
	}},
	{"queues-sorted", "serves queues by name", "Claim/Queues", func(h *hooked) {
		editClaims(h, func(q *driver.ClaimQuery) { slices.Sort(q.Queues) })
	}},
	{"pause-ignored", "claims from paused queues", "Claim/Paused", func(h *hooked) {
		h.pauseQueue = func(context.Context, string, bool) error { return nil }
	}},
	{"claimed-twice", "now and then hands out a job again", "Claim/ConcurrentPairs", func(h *hooked) {
		var last []driver.Job
		h.claim = func(ctx context.Context, q driver.ClaimQuery) ([]driver.Job, error) {
			jobs, err := h.Store.Claim(ctx, q)
			h.mu.Lock()
			defer h.mu.Unlock()
			if len(jobs) == 0 && q.Limit == 2 {
				return last, err
			}
			last = jobs
			return jobs, err
		}
	}},
	{"claim-one", "starts the claim counter anew with each claim", "Claim/Stamps", func(h *hooked) {
		editClaimed(h, func(jobs []driver.Job) []driver.Job {
			for i := range jobs {
				jobs[i].Claim = 1
			}
			return jobs
		})
	}},
	{"fence-open", "applies an outcome under any claim", "Finish/Stale/claim", func(h *hooked) {
		editOutcomes(h, func(o *driver.Outcome) {
			if r, err := h.Store.Job(context.Background(), o.ID); err == nil {
				o.Claim = r.Claim
			}
		})
	}},
	{"stale-applied", "says Applied for what had been applied before", "Finish/Resend", func(h *hooked) {
		editResults(h, func(outs []driver.Outcome, res []driver.Result) {
			for i, r := range res {
				if r == driver.Stale {
					res[i] = driver.Applied
				}
			}
		})
	}},
	{"duplicate-applied", "says Applied for a repeated ref", "Finish/Duplicate", func(h *hooked) {
		editResults(h, func(outs []driver.Outcome, res []driver.Result) {
			first := map[driver.Ref]driver.Result{}
			for i, out := range outs {
				if r, ok := first[out.Ref]; ok {
					res[i] = r
				}
				first[out.Ref] = res[i]
			}
		})
	}},
	{"last-wins", "lets the last of several outcomes of a ref win", "Finish/Duplicate", func(h *hooked) {
		h.finish = func(ctx context.Context, server string, outs []driver.Outcome) ([]driver.Result, error) {
			outs = slices.Clone(outs)
			slices.Reverse(outs)
			res, err := h.Store.Finish(ctx, server, outs)
			slices.Reverse(res)
			return res, err
		}
	}},
	{"refund-dropped", "gives no attempt back", "Finish/Refund", func(h *hooked) {
		editOutcomes(h, func(o *driver.Outcome) { o.Refund = false })
	}},
	{"retry-waits", "schedules a retry without delay", "Finish/RetryNow/plain", func(h *hooked) {
		editOutcomes(h, func(o *driver.Outcome) {
			if o.State == driver.Scheduled {
				o.Delay = max(o.Delay, time.Millisecond)
			}
		})
	}},
	{"cancel-dropped", "forgets that the deletion of a running job was asked for", "Finish/Cancel", func(h *hooked) {
		h.delete = func(ctx context.Context, f driver.Filter) (int, error) {
			if len(f.IDs) > 0 {
				if r, err := h.Store.Job(ctx, f.IDs[0]); err == nil && r.State == driver.Processing {
					return len(f.IDs), nil
				}
			}
			return h.Store.Delete(ctx, f)
		}
	}},
	{"error-short", "keeps less than 2 KiB of an error", "Finish/Truncate", func(h *hooked) {
		editOutcomes(h, func(o *driver.Outcome) { o.Error = o.Error[:min(len(o.Error), 2000)] })
	}},
	{"text-refused", "refuses an outcome whose error is not UTF-8", "Finish/Text", func(h *hooked) {
		editOutcomes(h, func(o *driver.Outcome) {
			if strings.Contains(o.Error, "\xff") {
				o.State = "refused"
			}
		})
	}},
	{"output-dropped", "drops output that is not JSON", "Finish/Rejected", func(h *hooked) {
		editOutcomes(h, func(o *driver.Outcome) {
			if !json.Valid(o.Output) {
				o.Output = nil
			}
		})
	}},
	{"output-compacted", "normalises the JSON of output", "Finish/Output", func(h *hooked) {
		editOutcomes(h, func(o *driver.Outcome) {
			var b bytes.Buffer
			if json.Compact(&b, o.Output) == nil {
				o.Output = b.Bytes()
			}
		})
	}},
	{"one-by-one", "stamps every outcome of a call by itself", "Finish/OneInstant", func(h *hooked) {
		h.finish = func(ctx context.Context, server string, outs []driver.Outcome) ([]driver.Result, error) {
			var all []driver.Result
			for i := range outs {
				res, err := h.Store.Finish(ctx, server, outs[i:i+1])
				if err != nil {
					return nil, err
				}
				all = append(all, res...)
			}
			return all, nil
		}
	}},
	{"history-newest-first", "lists the history with the newest entry first", "Finish/History", func(h *hooked) {
		editRecords(h, func(r *driver.Record) { slices.Reverse(r.History) })
	}},
	{"entry-by-caller", "puts the caller of Finish into the history", "Finish/Whoever", func(h *hooked) {
		var caller string
		h.finish = func(ctx context.Context, server string, outs []driver.Outcome) ([]driver.Result, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			caller = server
			return h.Store.Finish(ctx, server, outs)
		}
		editRecords(h, func(r *driver.Record) {
			for i := range r.History {
				r.History[i].Server = caller
			}
		})
	}},
	{"meta-open", "takes SetMeta from a claim that is lost, without an error", "Finish/SetMeta/fenced", func(h *hooked) {
		h.setMeta = func(ctx context.Context, ref driver.Ref, meta map[string]string) error {
			if err := h.Store.SetMeta(ctx, ref, meta); !errors.Is(err, driver.ErrLost) {
				return err
			}
			return nil
		}
	}},

	// Coordinator.
	{"own-clock", "takes its time from the process instead of the clock it was given", "Coordinate/Now", func(h *hooked) {
		h.Store = memstore.New()
	}},
	{"now-local", "tells the time in a local zone", "Coordinate/Now", func(h *hooked) {
		h.storeNow = func(context.Context) (time.Time, error) { return h.now(), nil }
	}},
	{"held-forever", "counts held from the first time a holder led, across an expiry", "Coordinate/LeadExpired", func(h *hooked) {
		first := map[string]time.Time{}
		h.lead = func(ctx context.Context, name, holder string, ttl time.Duration) (time.Duration, bool, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			held, ok, err := h.Store.Lead(ctx, name, holder, ttl)
			if ok && held == 0 {
				if at, again := first[holder]; again {
					return h.now().Sub(at), ok, err
				}
				first[holder] = h.now()
			}
			return held, ok, err
		}
	}},
	{"lease-grows", "never lets a renewal expire sooner", "Coordinate/LeadSooner", func(h *hooked) {
		longest := time.Duration(0)
		h.lead = func(ctx context.Context, name, holder string, ttl time.Duration) (time.Duration, bool, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			longest = max(longest, ttl)
			return h.Store.Lead(ctx, name, holder, longest)
		}
	}},
	{"resign-anybody", "lets anybody resign a lease", "Coordinate/Resign", func(h *hooked) {
		holder := ""
		h.lead = func(ctx context.Context, name, who string, ttl time.Duration) (time.Duration, bool, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			held, ok, err := h.Store.Lead(ctx, name, who, ttl)
			if ok {
				holder = who
			}
			return held, ok, err
		}
		h.resign = func(ctx context.Context, name, _ string) error { return h.Store.Resign(ctx, name, holder) }
	}},
	{"next-zero", "says that nothing is scheduled while due jobs remain", "Coordinate/PromoteLimit", func(h *hooked) {
		editPromoted(h, func(p *driver.Promoted) {
			if p.Next <= 10*time.Millisecond {
				p.Next = 0
			}
		})
	}},
	{"promote-unbounded", "promotes everything for a limit of 0", "Coordinate/PromoteLimit", func(h *hooked) {
		h.promote = func(ctx context.Context, limit int) (driver.Promoted, error) {
			if limit <= 0 {
				limit = 1000
			}
			return h.Store.Promote(ctx, limit)
		}
	}},
	{"queues-unsorted", "lists the queues of a promotion backwards", "Coordinate/Promote", func(h *hooked) {
		editPromoted(h, func(p *driver.Promoted) { slices.Reverse(p.Queues) })
	}},
	{"deadline-ignored", "never ends a job for its deadline", "Coordinate/PromoteDeadline", func(h *hooked) {
		editInserts(h, func(p *driver.InsertParams) { p.Deadline = time.Time{} })
	}},
	{"started-moves", "takes StartedAt from each heartbeat", "Coordinate/HeartbeatStarted", func(h *hooked) {
		started := map[string]time.Time{}
		h.heartbeat = func(ctx context.Context, s driver.ServerInfo) (driver.Directives, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			started[s.ID] = s.StartedAt.UTC()
			return h.Store.Heartbeat(ctx, s)
		}
		h.servers = func(ctx context.Context) ([]driver.ServerInfo, error) {
			list, err := h.Store.Servers(ctx)
			for i := range list {
				list[i].StartedAt = started[list[i].ID]
			}
			return list, err
		}
	}},
	{"leases-unsorted", "lists leases backwards", "Coordinate/HeartbeatLeases", func(h *hooked) {
		h.heartbeat = func(ctx context.Context, s driver.ServerInfo) (driver.Directives, error) {
			d, err := h.Store.Heartbeat(ctx, s)
			slices.Reverse(d.Leases)
			return d, err
		}
	}},
	{"leases-kept", "keeps the leases of a server that left", "Coordinate/Unregister", func(h *hooked) {
		h.unregister = func(context.Context, string) error { return nil }
	}},
	{"orphans-known", "finds orphans only of servers that it knows", "Coordinate/Orphans", func(h *hooked) {
		h.orphans = func(ctx context.Context, deadAfter time.Duration, limit int) ([]driver.Orphan, error) {
			list, err := h.Store.Orphans(ctx, deadAfter, limit)
			servers, _ := h.Store.Servers(ctx)
			return slices.DeleteFunc(list, func(o driver.Orphan) bool {
				return !slices.ContainsFunc(servers, func(s driver.ServerInfo) bool { return s.ID == o.Server })
			}), err
		}
	}},
	{"reason-first", "gives no LastReason", "Coordinate/OrphanReason", func(h *hooked) {
		h.orphans = func(ctx context.Context, deadAfter time.Duration, limit int) ([]driver.Orphan, error) {
			list, err := h.Store.Orphans(ctx, deadAfter, limit)
			for i := range list {
				list[i].LastReason = ""
			}
			return list, err
		}
	}},
	{"sweep-counts", "counts rows that it only looked at", "Coordinate/Sweep/consistent", func(h *hooked) {
		h.sweep = func(ctx context.Context, _ int) (int, error) {
			c, err := h.Store.Counts(ctx)
			return int(c.Enqueued), err
		}
	}},
	{"prune-counts-rows", "counts the history of a pruned job too", "Coordinate/Prune/count", func(h *hooked) {
		h.prune = func(ctx context.Context, p driver.PruneParams) (int, error) {
			n, err := h.Store.Prune(ctx, p)
			return 2 * n, err
		}
	}},
	{"jump-forgets", "forgets silent servers whoever leads", "Coordinate/PruneServersLead", func(h *hooked) {
		h.prune = func(ctx context.Context, p driver.PruneParams) (int, error) {
			for _, holder := range []string{"server-1", "server-2"} {
				if err := h.Store.Resign(ctx, "kiln.leader", holder); err != nil {
					return 0, err
				}
			}
			return h.Store.Prune(ctx, p)
		}
	}},
	{"totals-fall", "takes pruned jobs out of the totals", "Coordinate/Prune/succeeded", func(h *hooked) {
		pruned := int64(0)
		h.prune = func(ctx context.Context, p driver.PruneParams) (int, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			n, err := h.Store.Prune(ctx, p)
			pruned += int64(n)
			return n, err
		}
		h.counts = func(ctx context.Context) (driver.Counts, error) {
			c, err := h.Store.Counts(ctx)
			c.Succeeded -= pruned
			return c, err
		}
	}},
	{"negative-prunes", "takes a negative retention for none", "Coordinate/Prune/kept", func(h *hooked) {
		h.prune = func(ctx context.Context, p driver.PruneParams) (int, error) {
			p.Deleted = max(p.Deleted, 0)
			return h.Store.Prune(ctx, p)
		}
	}},

	// Admin.
	{"delete-counts-ids", "counts the ids that it was given", "Admin/Filter", func(h *hooked) {
		h.delete = func(ctx context.Context, f driver.Filter) (int, error) {
			n, err := h.Store.Delete(ctx, f)
			return max(n, len(f.IDs)), err
		}
	}},
	{"tag-ignored", "ignores the tag of a filter", "Admin/FilterFields/tag", func(h *hooked) {
		h.delete = func(ctx context.Context, f driver.Filter) (int, error) {
			f.Tag = ""
			return h.Store.Delete(ctx, f)
		}
	}},
	{"recurring-ignored", "ignores the recurring id of a filter", "Admin/FilterFields/plain", func(h *hooked) {
		h.delete = func(ctx context.Context, f driver.Filter) (int, error) {
			f.RecurringID = ""
			return h.Store.Delete(ctx, f)
		}
	}},
	{"bulk-cut", "deletes only the first thousand", "Admin/DeleteBulk", func(h *hooked) {
		h.delete = func(ctx context.Context, f driver.Filter) (int, error) {
			f.IDs = f.IDs[:min(len(f.IDs), 1000)]
			return h.Store.Delete(ctx, f)
		}
	}},
	{"actor-lost", "forgets who asked for a requeue", "Admin/Requeue/actor", func(h *hooked) {
		h.requeue = func(ctx context.Context, f driver.Filter) (int, error) {
			return h.Store.Requeue(driver.WithActor(ctx, ""), f)
		}
	}},
	{"requeue-scheduled", "does not requeue scheduled jobs", "Admin/RequeueAttempts", func(h *hooked) {
		h.requeue = func(ctx context.Context, f driver.Filter) (int, error) {
			if len(f.IDs) > 0 {
				if r, err := h.Store.Job(ctx, f.IDs[0]); err == nil && r.State == driver.Scheduled {
					return 0, nil
				}
			}
			return h.Store.Requeue(ctx, f)
		}
	}},
	{"empty-queue", "pauses a queue without a name", "Admin/Pause", func(h *hooked) {
		h.pauseQueue = func(ctx context.Context, queue string, paused bool) error {
			if queue == "" {
				return nil
			}
			return h.Store.PauseQueue(ctx, queue, paused)
		}
	}},

	// Inspector.
	{"local-zone", "reads instants in a local zone", "Inspect/Instants", func(h *hooked) {
		editRecords(h, func(r *driver.Record) {
			r.CreatedAt = r.CreatedAt.In(time.FixedZone("local", 3600))
		})
	}},
	{"cursor-skips", "skips a job behind each page", "Inspect/JobsPages", func(h *hooked) {
		editPages(h, func(q driver.JobQuery, p *driver.Page) {
			if q.Cursor != "" && len(p.Records) > 1 {
				p.Records = p.Records[1:]
			}
		})
	}},
	{"page-after-last", "gives a cursor behind a last page that is full", "Inspect/JobsPages", func(h *hooked) {
		h.jobs = func(ctx context.Context, q driver.JobQuery) (driver.Page, error) {
			if q.Cursor == "end" {
				return driver.Page{}, nil
			}
			p, err := h.Store.Jobs(ctx, q)
			if p.Next == "" && len(p.Records) == q.Limit {
				p.Next = "end"
			}
			return p, err
		}
	}},
	{"page-uncut", "cuts pages to 400 jobs", "Inspect/JobsLimit", func(h *hooked) {
		h.jobs = func(ctx context.Context, q driver.JobQuery) (driver.Page, error) {
			q.Limit = min(q.Limit, 400)
			return h.Store.Jobs(ctx, q)
		}
	}},
	{"tag-near", "looks for a tag only among the next 1000 jobs", "Inspect/JobsTag", func(h *hooked) {
		h.jobs = func(ctx context.Context, q driver.JobQuery) (driver.Page, error) {
			if q.Tag == "" {
				return h.Store.Jobs(ctx, q)
			}
			var found driver.Page
			plain := q
			plain.Tag, plain.Limit = "", 500
			for range 2 {
				p, err := h.Store.Jobs(ctx, plain)
				if err != nil {
					return p, err
				}
				for _, r := range p.Records {
					if slices.Contains(r.Tags, q.Tag) {
						found.Records = append(found.Records, r)
					}
				}
				if plain.Cursor = p.Next; p.Next == "" {
					break
				}
			}
			return found, nil
		}
	}},
	{"order-by-id", "lists ended jobs by id", "Inspect/JobsFinalOrder", func(h *hooked) {
		editPages(h, func(q driver.JobQuery, p *driver.Page) {
			if q.State.Final() {
				slices.SortFunc(p.Records, func(a, b driver.Record) int { return cmp.Compare(b.ID, a.ID) })
			}
		})
	}},
	{"retries-ignored", "lists scheduled jobs that wait for no retry among the retries", "Inspect/JobsFilter/plain", func(h *hooked) {
		h.jobs = func(ctx context.Context, q driver.JobQuery) (driver.Page, error) {
			q.Retries = false
			return h.Store.Jobs(ctx, q)
		}
	}},
	{"counts-apart", "counts ended jobs a moment after the others", "Inspect/Counts/moving", func(h *hooked) {
		h.counts = func(ctx context.Context) (driver.Counts, error) {
			early, err := h.Store.Counts(ctx)
			if err != nil {
				return early, err
			}
			// Others go on in between: as one of them would, run a job.
			if err := moveOne(ctx, h); err != nil {
				return early, err
			}
			late, err := h.Store.Counts(ctx)
			early.Succeeded = late.Succeeded
			return early, err
		}
	}},
	{"series-end", "counts the minute that begins at the end of a series", "Inspect/SeriesEnd", func(h *hooked) {
		h.series = func(ctx context.Context, from, to time.Time, step time.Duration) ([]driver.Point, error) {
			return h.Store.Series(ctx, from, to.Add(time.Nanosecond), step)
		}
	}},
	{"series-from", "begins a series in the middle of its first bucket", "Inspect/Series", func(h *hooked) {
		h.series = func(ctx context.Context, from, to time.Time, step time.Duration) ([]driver.Point, error) {
			points, err := h.Store.Series(ctx, from, to, step)
			return slices.DeleteFunc(points, func(p driver.Point) bool { return p.At.Before(from.Truncate(time.Minute)) }), err
		}
	}},
	{"queues-paused", "does not list a queue that has only a pause", "Inspect/Queues/jobless", func(h *hooked) {
		h.queues = func(ctx context.Context) ([]driver.QueueInfo, error) {
			list, err := h.Store.Queues(ctx)
			return slices.DeleteFunc(list, func(q driver.QueueInfo) bool { return q.Paused }), err
		}
	}},

	// Optional interfaces, and the suite's own call.
	{"no-resync", "begins a subscription without a Resync", "Notify/Resync", func(h *hooked) {
		editEvents(h, func(e driver.Event, fn func(driver.Event)) {
			if e.Kind == driver.Resync {
				e = driver.Event{Kind: driver.JobsReady, Queue: "q"}
			}
			fn(e)
		})
	}},
	{"one-queue", "tells of one queue only", "Notify/Insert", func(h *hooked) {
		editEvents(h, func(e driver.Event, fn func(driver.Event)) {
			if e.Queue == "" || e.Queue == "default" {
				fn(e)
			}
		})
	}},
	{"cancel-untold", "tells of a cancellation without the id", "Notify/Cancel", func(h *hooked) {
		editEvents(h, func(e driver.Event, fn func(driver.Event)) { fn(driver.Event{Kind: e.Kind, Queue: e.Queue}) })
	}},
	{"subscribe-canceled", "returns the context's error from Subscribe", "Notify/Stop", func(h *hooked) {
		h.subscribe = func(ctx context.Context, fn func(driver.Event)) error {
			return cmp.Or(h.Store.Subscribe(ctx, fn), ctx.Err())
		}
	}},
	{"tx-commits", "commits although fn failed", "Tx/Rollback/job", func(h *hooked) {
		h.inTx = func(ctx context.Context, fn func(driver.Writer) error) error {
			var failed error
			err := h.Store.InTx(ctx, func(w driver.Writer) error {
				failed = fn(w)
				return nil
			})
			return cmp.Or(failed, err)
		}
	}},
	{"tx-open", "writes past the transaction", "Tx/Unseen", func(h *hooked) {
		h.inTx = func(_ context.Context, fn func(driver.Writer) error) error { return fn(h.Store) }
	}},
	{"check-fails", "finds contradictions in itself", "Insert/IDs", func(h *hooked) {
		h.check = func(context.Context) error { return errors.New("a job is in two states") }
	}},
}

// moveOne claims and ends a job, as another server would.
func moveOne(ctx context.Context, h *hooked) error {
	jobs, err := h.Store.Claim(ctx, driver.ClaimQuery{Queues: []string{"default"}, Limit: 1, Server: "another"})
	if err != nil || len(jobs) == 0 {
		return err
	}
	_, err = h.Store.Finish(ctx, "another", []driver.Outcome{{Ref: jobs[0].Ref, State: driver.Succeeded}})
	return err
}

func editInserts(h *hooked, edit func(*driver.InsertParams)) {
	h.insert = func(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
		jobs = slices.Clone(jobs)
		for i := range jobs {
			edit(&jobs[i])
		}
		return h.Store.Insert(ctx, jobs)
	}
}

func editClaims(h *hooked, edit func(*driver.ClaimQuery)) {
	h.claim = func(ctx context.Context, q driver.ClaimQuery) ([]driver.Job, error) {
		q.Queues, q.Kinds = slices.Clone(q.Queues), slices.Clone(q.Kinds)
		edit(&q)
		return h.Store.Claim(ctx, q)
	}
}

func editClaimed(h *hooked, edit func([]driver.Job) []driver.Job) {
	h.claim = func(ctx context.Context, q driver.ClaimQuery) ([]driver.Job, error) {
		jobs, err := h.Store.Claim(ctx, q)
		return edit(jobs), err
	}
}

func editOutcomes(h *hooked, edit func(*driver.Outcome)) {
	h.finish = func(ctx context.Context, server string, outs []driver.Outcome) ([]driver.Result, error) {
		outs = slices.Clone(outs)
		for i := range outs {
			edit(&outs[i])
		}
		return h.Store.Finish(ctx, server, outs)
	}
}

func editResults(h *hooked, edit func([]driver.Outcome, []driver.Result)) {
	h.finish = func(ctx context.Context, server string, outs []driver.Outcome) ([]driver.Result, error) {
		res, err := h.Store.Finish(ctx, server, outs)
		edit(outs, res)
		return res, err
	}
}

func editPromoted(h *hooked, edit func(*driver.Promoted)) {
	h.promote = func(ctx context.Context, limit int) (driver.Promoted, error) {
		p, err := h.Store.Promote(ctx, limit)
		edit(&p)
		return p, err
	}
}

func editRecords(h *hooked, edit func(*driver.Record)) {
	h.job = func(ctx context.Context, id int64) (driver.Record, error) {
		r, err := h.Store.Job(ctx, id)
		if err == nil {
			edit(&r)
		}
		return r, err
	}
}

func editPages(h *hooked, edit func(driver.JobQuery, *driver.Page)) {
	h.jobs = func(ctx context.Context, q driver.JobQuery) (driver.Page, error) {
		p, err := h.Store.Jobs(ctx, q)
		edit(q, &p)
		return p, err
	}
}

func editEvents(h *hooked, edit func(driver.Event, func(driver.Event))) {
	h.subscribe = func(ctx context.Context, fn func(driver.Event)) error {
		return h.Store.Subscribe(ctx, func(e driver.Event) { edit(e, fn) })
	}
}
