package pgstore

import (
	"cmp"
	"context"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Claim implements driver.Worker.
func (s *Store) Claim(ctx context.Context, q driver.ClaimQuery) ([]driver.Job, error) {
	if q.Limit <= 0 || len(q.Queues) == 0 {
		return nil, s.usable(ctx)
	}
	c := claim{s: s, queues: dedupe(q.Queues), limit: q.Limit, server: q.Server}
	if len(q.Kinds) > 0 {
		c.kinds = distinct(q.Kinds)
		if len(c.kinds) == 0 {
			return nil, s.usable(ctx)
		}
	}
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	c.key = kindsKey(c.kinds)
	return c.run(ctx)
}

// distinct is a sorted copy without repetitions, and without what is not UTF-8, which no job can have.
func distinct(list []string) []string {
	out := slices.DeleteFunc(slices.Clone(list), func(name string) bool { return !storable(name) })
	slices.Sort(out)
	return slices.Compact(out)
}

// dedupe is a copy in the same order without repetitions.
func dedupe(list []string) []string {
	var out []string
	for _, name := range list {
		if storable(name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// storable reports whether PostgreSQL can keep a text.
func storable(text string) bool {
	return utf8.ValidString(text) && !slices.Contains([]byte(text), 0)
}

// claim is one Claim call.
type claim struct {
	s      *Store
	queues []string
	kinds  []string
	key    string
	limit  int
	server string
	jobs   []driver.Job
}

// run claims from the marks on. When it is time to, or when that found nothing, it looks at everything. While this process hears what
// others tell, a look would find only what nobody has told of, so jobs that were found do not wait for it: it is made beside the claims.
func (c *claim) run(ctx context.Context) ([]driver.Job, error) {
	lines, trusted := c.s.marks.lines(c.key, c.queues, time.Now())
	defer c.s.marks.left()
	hears := c.s.listener.hears.Load() && !c.s.hub.isDeaf()
	if trusted == fresh || trusted < unknown && hears {
		if len(lines) > 0 {
			if err := c.take(ctx, lines, nil); err != nil {
				return nil, err
			}
		}
		if len(c.jobs) > 0 && trusted == old {
			c.s.looker.ask(c.key, c.queues)
		}
		if len(c.jobs) >= c.limit || hears && len(c.jobs) > 0 || !c.s.marks.worth(c.key, c.queues, time.Now()) {
			return c.jobs, nil
		}
	}
	if err := c.look(ctx); err != nil && len(c.jobs) == 0 {
		return nil, err
	}
	return c.jobs, nil // what was taken before a look that failed is claimed
}

// look claims from the beginning of all lanes.
func (c *claim) look(ctx context.Context) error {
	began := time.Now()
	lines, last, err := c.s.lanes(ctx, c.queues)
	if err != nil {
		return err
	}
	c.s.marks.look(c.key, c.queues, began, lines)
	if len(lines) > 0 {
		if err := c.take(ctx, lines, last); err != nil {
			return err
		}
	}
	c.s.marks.looked(c.key, c.queues, time.Since(began))
	return nil
}

// take claims what is left of the limit from some lanes. last, when everything is looked at, has the highest id of each lane.
func (c *claim) take(ctx context.Context, lines []line, last lowestIDs) error {
	queues, ranks, marks := make([]string, len(lines)), make([]int32, len(lines)), make([]int64, len(lines))
	for i, l := range lines {
		queues[i], ranks[i], marks[i] = l.queue, l.rank, l.mark
	}
	want := c.limit - len(c.jobs)
	first := len(c.jobs)
	rd := newClaimReader(min(int64(want), c.s.taken.Load()+1))
	err := c.s.retried(ctx, func() error {
		c.jobs = c.jobs[:first]
		return c.s.batched(ctx, func(batch *pgx.Batch) {
			batch.Queue(c.s.texts.SQL("claim"), c.s.clockMicros(), queues, ranks, marks, c.kinds, int64(want), c.server).Query(func(rows pgx.Rows) error {
				var err error
				c.jobs, err = rd.read(rows, c.jobs)
				return err
			})
		})
	})
	if err != nil {
		c.jobs = c.jobs[:first]
		return err
	}
	taken := c.jobs[first:]
	c.s.taken.Store(int64(len(taken)))
	c.order(taken)
	reached := map[laneKey]int64{}
	for i := range taken {
		j := &taken[i]
		lane := laneKey{j.Queue, -int32(j.Priority)}
		reached[lane] = max(reached[lane], j.ID)
	}
	// A lane that others were taken from after it, or that was not enough with all others, has no more.
	exhausted := len(lines)
	if len(taken) == want {
		exhausted = lastLane(lines, reached)
	}
	for i, l := range lines {
		at, any := reached[l.laneKey]
		if i < exhausted && last != nil {
			at, any = max(at, last[l.laneKey]), true
		}
		if any {
			c.s.marks.reached(c.key, l.laneKey, at, last != nil)
		}
	}
	return nil
}

// lastLane is the place of the last lane that something was taken from.
func lastLane(lines []line, reached map[laneKey]int64) int {
	for i := len(lines) - 1; i >= 0; i-- {
		if _, ok := reached[lines[i].laneKey]; ok {
			return i
		}
	}
	return 0
}

// order sorts jobs as they were taken: rows that a delete returns have no order.
func (c *claim) order(jobs []driver.Job) {
	if slices.IsSortedFunc(jobs, c.compare) {
		return
	}
	slices.SortFunc(jobs, c.compare)
}

func (c *claim) compare(a, b driver.Job) int {
	if a.Queue != b.Queue {
		return cmp.Compare(slices.Index(c.queues, a.Queue), slices.Index(c.queues, b.Queue))
	}
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.ID, b.ID))
}

// claimReader reads the rows of a claim. Its columns are read into the same variables again and again, and names that repeat from row to
// row are kept once.
type claimReader struct {
	row struct {
		id, runAt, at, createdAt, timeout                         int64
		flags, claim, attempt, most, rank                         int32
		queue, kind, args, limitKey, recurring, title, tags, meta rawBytes
		batch                                                     *int64
		parents                                                   []int64
	}
	into []any
	// expected is room for how many jobs is made when there is one.
	expected int

	args                  storekit.Packer
	queue, kind, limitKey string
	now                   time.Time
	at                    int64
}

// newClaimReader makes a reader of about as many rows as are expected.
func newClaimReader(expected int64) *claimReader {
	c := &claimReader{expected: int(expected)}
	r := &c.row
	c.into = []any{&r.id, &r.runAt, &r.flags, &r.claim, &r.attempt, &r.rank, &r.queue, &r.kind, &r.at, &r.createdAt, &r.timeout, &r.most, &r.args,
		&r.batch, &r.limitKey, &r.recurring, &r.parents, &r.title, &r.tags, &r.meta}
	return c
}

func (c *claimReader) read(rows pgx.Rows, jobs []driver.Job) ([]driver.Job, error) {
	for rows.Next() {
		if err := rows.Scan(c.into...); err != nil {
			return jobs, err
		}
		if jobs == nil {
			jobs = make([]driver.Job, 0, c.expected)
		}
		jobs = append(jobs, c.job())
	}
	return jobs, rows.Err()
}

// job is the job of the row that was read last.
func (c *claimReader) job() driver.Job {
	r := &c.row
	if r.at != c.at {
		c.at, c.now = r.at, storekit.Instant(r.at)
	}
	job := driver.Job{
		Ref:  driver.Ref{ID: r.id, Claim: r.claim},
		Kind: repeated(&c.kind, r.kind), Queue: repeated(&c.queue, r.queue), Priority: int16(-r.rank),
		Attempt: int(r.attempt), MaxAttempts: int(r.most), Timeout: storekit.MillisTimeout(r.timeout),
		RunAt: storekit.Instant(r.runAt), CreatedAt: storekit.Instant(r.createdAt), AttemptedAt: c.now,
		LimitKey: repeated(&c.limitKey, r.limitKey), Args: c.args.Keep(r.args),
		RecurringID: string(r.recurring), Title: string(r.title), Tags: storekit.DecodeTags(r.tags), Meta: storekit.DecodeMeta(r.meta),
	}
	if r.batch != nil {
		job.BatchID = *r.batch
	}
	if len(r.parents) > 0 {
		job.Parents, r.parents = r.parents, nil
	}
	return job
}

// repeated is the text in b, the same string as before when it has not changed.
func repeated(before *string, b []byte) string {
	if *before != string(b) {
		*before = string(b)
	}
	return *before
}

// rawBytes is a column as it came, valid until the next row. Null is nil.
type rawBytes []byte

// ScanBytes implements pgtype.BytesScanner.
func (r *rawBytes) ScanBytes(b []byte) error {
	*r = b
	return nil
}
