package pgstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// budget is how many candidates a page walks over when a filter has no index. A page that comes back short then still has a Next,
// and the walk goes on from there.
const budget = 10_000

// farthest is how many candidates a page walks over that would be empty otherwise.
const farthest = 100_000

// Jobs implements driver.Inspector. Index reads are: every state by itself; queue for scheduled, throttled, awaiting,
// enqueued and failed; kind for failed; retries; batches of less than 10,000 jobs. Every other filter walks at most 10,000 jobs per
// page, and on to 100,000 while it finds nothing.
func (s *Store) Jobs(ctx context.Context, q driver.JobQuery) (driver.Page, error) {
	if err := storekit.CheckQuery(q); err != nil {
		return driver.Page{}, err
	}
	cursor, resumed, err := storekit.ParseCursor(q.Cursor)
	if err != nil {
		return driver.Page{}, err
	}
	if !storable(q.Queue) || !storable(q.Kind) || !storable(q.Tag) {
		return driver.Page{}, s.usable(ctx) // no job has it
	}
	var page driver.Page
	err = s.snapshot(ctx, func(r *reader) error {
		b := newPage(q, s.schema)
		b.mode = s.unprepared()
		if resumed {
			b.cursor = &cursor
		}
		if b.byBatch, err = r.smallBatch(q.BatchID); err != nil {
			return err
		}
		var queues []string
		if q.State == driver.Enqueued && q.Queue == "" && !b.byBatch {
			if queues, err = r.names("ready_queues"); err != nil || len(queues) == 0 {
				return err
			}
		}
		page, err = b.walk(r, queues)
		return err
	})
	if err != nil {
		return driver.Page{}, err
	}
	return page, nil
}

// smallBatch reports whether a batch has so few jobs that all of them can be looked at for a page.
func (r *reader) smallBatch(id int64) (bool, error) {
	if id == 0 {
		return false, nil
	}
	n := 0
	_, err := r.one("page_batch", []any{id, int64(budget)}, &n)
	return n < budget, err
}

// walk reads a page, and goes on while nothing matches and there is more.
func (b *pageBuilder) walk(r *reader, queues []string) (page driver.Page, err error) {
	for walked := 0; walked < farthest; walked += budget {
		step := *b
		step.build(queues)
		var last storekit.Cursor
		page, last, err = step.read(r)
		if err != nil || len(page.Records) > 0 || page.Next == "" {
			return page, err
		}
		b.cursor = &last
	}
	return page, nil
}

// unprepared is how queries are sent that the server is to plan for their own arguments. A plan for any arguments goes wrong by a whole
// table when all of it is in one queue and another is asked for.
func (s *Store) unprepared() pgx.QueryExecMode {
	if mode := s.pool.Config().ConnConfig.DefaultQueryExecMode; mode == pgx.QueryExecModeSimpleProtocol {
		return mode
	}
	return pgx.QueryExecModeExec
}

// pageBuilder writes the query for one page: candidates in the order of the state from an index, cut at the budget, joined
// with their payloads and filtered.
type pageBuilder struct {
	query  driver.JobQuery
	limit  int
	prefix string
	cursor *storekit.Cursor
	place  listing
	mode   pgx.QueryExecMode
	// byBatch says that the candidates are the jobs of the query's batch, all of them.
	byBatch bool

	args []any
	// lane is the column of a filter that the order begins with, and of its value.
	lane, of string
	// candidates is the query for the candidates, which has the first walkArgs parameters.
	candidates string
	walkArgs   int
	// ofJob are the conditions on a candidate's payload, ofState on its state, that no index of the state has.
	ofJob, ofState []string
}

func newPage(q driver.JobQuery, schema string) *pageBuilder {
	return &pageBuilder{query: q, limit: storekit.PageLimit(q.Limit), prefix: quoted(schema), place: listings[q.State]}
}

// listing describes the table of a state: its order, and the filters that its indexes have.
type listing struct {
	table, value, order     string
	queue, kind, retries    bool
	finished, cancel, pends bool
	state                   int64
}

var listings = map[driver.State]listing{
	driver.Awaiting:   {table: "awaiting", order: "desc", queue: true, pends: true},
	driver.Scheduled:  {table: "scheduled", value: "run_at", order: "asc", queue: true, retries: true},
	driver.Throttled:  {table: "throttled", value: "rank", order: "asc", queue: true},
	driver.Enqueued:   {table: "ready", value: "rank", order: "asc", queue: true},
	driver.Processing: {table: "lease", order: "desc", cancel: true},
	driver.Failed:     {table: "failed", value: "finished_at", order: "desc", queue: true, kind: true, finished: true},
	driver.Succeeded:  {table: "done", value: "finished_at", order: "desc", finished: true, state: doneSucceeded},
	driver.Deleted:    {table: "done", value: "finished_at", order: "desc", finished: true, state: doneDeleted},
}

// arg adds a parameter and returns its place in the text.
func (b *pageBuilder) arg(value any, kind string) string {
	b.args = append(b.args, value)
	return fmt.Sprintf("$%d::%s", len(b.args), kind)
}

// build writes the query. queues are those of the enqueued jobs, when all of them are meant.
func (b *pageBuilder) build(queues []string) {
	q, p := &b.query, &b.place
	byQueue := q.Queue != "" && p.queue && !b.byBatch
	byKind := q.Kind != "" && p.kind && !byQueue && !b.byBatch
	byRetries := q.Retries && p.retries && !byQueue && !b.byBatch
	walks := q.Queue != "" && !byQueue || q.Kind != "" && !byKind || q.BatchID != 0 && !b.byBatch || q.Retries && p.retries && !byRetries || q.Tag != ""

	var where []string
	if p.state != 0 {
		where = append(where, "state = "+b.arg(p.state, "smallint"))
	}
	if byRetries {
		where = append(where, "attempt > 0")
	}
	switch {
	case byQueue && q.State == driver.Enqueued:
		queues = []string{q.Queue}
	case byQueue:
		b.lane, b.of = "queue", b.arg(q.Queue, "text")
	case byKind:
		b.lane, b.of = "kind", b.arg(q.Kind, "text")
	}
	b.buildCandidates(append(where, b.position()...), queues, walks)
	b.walkArgs = len(b.args)

	if q.Queue != "" && !byQueue {
		b.ofJob = append(b.ofJob, "j.queue = "+b.arg(q.Queue, "text"))
	}
	if q.Kind != "" && !byKind {
		b.ofJob = append(b.ofJob, "j.kind = "+b.arg(q.Kind, "text"))
	}
	if q.BatchID != 0 && !b.byBatch {
		b.ofJob = append(b.ofJob, "j.batch_id = "+b.arg(q.BatchID, "bigint"))
	}
	if q.Tag != "" {
		// The text is looked for first: to read it as JSON costs more than to reach the row.
		b.ofJob = append(b.ofJob, "case when position("+b.arg(storekit.TagText(q.Tag), "text")+" in j.tags) > 0 then j.tags::jsonb ? "+b.arg(q.Tag, "text")+" end")
	}
	if q.Retries && p.retries && !byRetries {
		b.ofState = append(b.ofState, "c.attempt > 0")
	}
}

// position are the conditions that a row is in the lane and comes after the cursor. A lane is written as a range and comes first in the
// order, so that no other index fits: one that the planner takes for it, since a part of the table is in the lane, may have to be read
// whole.
func (b *pageBuilder) position() (where []string) {
	beyond, within := ">", "<="
	if b.place.order == "desc" {
		beyond, within = "<", ">="
	}
	if b.lane != "" {
		where = append(where, fmt.Sprintf("%s %s %s", b.lane, within, b.of))
		if b.cursor == nil {
			where = append(where, fmt.Sprintf("%s %s= %s", b.lane, beyond, b.of))
		}
	}
	if b.cursor == nil {
		return where
	}
	var columns, after []string
	if b.lane != "" {
		columns, after = append(columns, b.lane), append(after, b.of)
	}
	if b.place.value != "" {
		// As bigint: a cursor may hold what the column cannot.
		columns, after = append(columns, b.place.value), append(after, b.arg(b.cursor.Value, "bigint"))
	}
	columns, after = append(columns, "id"), append(after, b.arg(b.cursor.ID, "bigint"))
	return append(where, fmt.Sprintf("(%s) %s (%s)", strings.Join(columns, ", "), beyond, strings.Join(after, ", ")))
}

// buildCandidates reads the table of a state in its order. Where that is an order inside of each queue, the queues are merged, which
// reads no more of each than is needed.
func (b *pageBuilder) buildCandidates(where, queues []string, walks bool) {
	most := b.limit + 1
	if walks {
		most = budget
	}
	limit := b.arg(int64(most), "bigint")
	if len(queues) == 0 {
		b.candidates = b.part(where, limit)
		return
	}
	var parts []string
	for _, queue := range queues {
		parts = append(parts, b.part(append(where[:len(where):len(where)], "queue = "+b.arg(queue, "text")), limit))
	}
	if b.candidates = parts[0]; len(parts) > 1 {
		b.candidates = "(" + strings.Join(parts, ")\n    union all (") + ")\n    order by " + b.order("") + " limit " + limit
	}
}

// part is the query for the first rows of a state that meet conditions.
func (b *pageBuilder) part(where []string, limit string) string {
	text := "select " + b.columns() + " from " + b.source()
	if len(where) > 0 {
		text += " where " + strings.Join(where, " and ")
	}
	return text + " order by " + b.order("") + " limit " + limit
}

// source is where candidates are read from: the table of the state, or what it has of the members of a batch, each looked up by key.
func (b *pageBuilder) source() string {
	table := b.prefix + b.place.table
	if !b.byBatch {
		return table
	}
	same := "s.id = m.member"
	if b.query.State == driver.Enqueued {
		same = "s.queue = m.in_queue and s.rank = -m.urgency::integer and " + same
	}
	return "(select id as member, queue as in_queue, priority as urgency from " + b.prefix + "jobs where batch_id = " + b.arg(b.query.BatchID, "bigint") +
		" and batch_id > 0 offset 0) m cross join lateral (select * from " + table + " s where " + same + " offset 0) s"
}

// columns are those that every kind of candidate has.
func (b *pageBuilder) columns() string {
	p := &b.place
	pick := func(has bool, column, otherwise string) string {
		if has {
			return column
		}
		return otherwise + " as " + column
	}
	columns := []string{"id", "flags", "run_at", pick(p.finished, "finished_at", "0::bigint"), pick(p.cancel, "cancel", "false"), pick(p.pends, "pending", "0")}
	for _, c := range []struct{ column, otherwise string }{
		{"claim", "0"}, {"attempt", "0"}, {"attempted_at", "null::bigint"}, {"server", "null::text"},
	} {
		columns = append(columns, pick(!p.pends, c.column, c.otherwise))
	}
	if p.value == "rank" {
		columns = append(columns, "rank")
	}
	if b.lane != "" {
		columns = append(columns, b.lane+" as lane")
	}
	return strings.Join(columns, ", ")
}

// order is that of the state. alias stands before the columns.
func (b *pageBuilder) order(alias string) string {
	columns := []string{"lane", b.place.value, "id"}
	if b.lane == "" {
		columns = columns[1:]
	}
	var parts []string
	for _, column := range columns {
		if column != "" {
			parts = append(parts, alias+column+" "+b.place.order)
		}
	}
	return strings.Join(parts, ", ")
}

// value is the column of the cursor's value.
func (b *pageBuilder) value(alias string) string {
	if b.place.value == "" {
		return "0::bigint"
	}
	return alias + b.place.value + "::bigint"
}

// text is the query for the page. Payloads are read by key whatever the planner thinks of the tables, in the order of the candidates,
// and no more of them than the page needs.
func (b *pageBuilder) text(limit string) string {
	ofJob, ofState := "", ""
	if len(b.ofJob) > 0 {
		ofJob = " and " + strings.Join(b.ofJob, " and ")
	}
	if len(b.ofState) > 0 {
		ofState = "\nwhere " + strings.Join(b.ofState, " and ")
	}
	return strings.ReplaceAll(`select j.id, j.queue, j.kind, j.priority, j.max_attempts, j.timeout, j.created_at, coalesce(j.batch_id, 0),
    coalesce(j.after_batch, 0), coalesce(j.limit_key, ''), coalesce(j.recurring_id, ''), j.parents, coalesce(j.title, ''),
    coalesce(j.tags, ''), coalesce((select m.meta from {prefix}metas m where m.id = j.id), j.meta, ''), j.args,
    coalesce((select p.progress from {prefix}progress p where p.id = j.id), 0),
    c.claim, c.attempt, c.run_at, coalesce(c.attempted_at, 0), coalesce(c.server, ''), c.finished_at, c.cancel, c.pending, `+b.value("c.")+`
from (
    `+b.candidates+`
) c cross join lateral (
    select * from {prefix}jobs j where j.id = c.id`+ofJob+` offset 0
) j`+ofState+`
order by `+b.order("c.")+` limit `+limit, storekit.PrefixMark, b.prefix)
}

// read reads the page, and the place where the next one begins if there is one.
func (b *pageBuilder) read(r *reader) (page driver.Page, last storekit.Cursor, err error) {
	more := false
	text := b.text(b.arg(int64(b.limit+1), "bigint"))
	err = r.eachText("page", text, append([]any{b.mode}, b.args...), func(rows rows) error {
		rec := driver.Record{State: b.query.State}
		var value int64
		if err := scanRecord(rows, &rec, &value); err != nil {
			return err
		}
		if more = len(page.Records) == b.limit; more {
			return nil
		}
		last = storekit.Cursor{Value: value, ID: rec.ID}
		page.Records = append(page.Records, rec)
		return nil
	})
	if err != nil {
		return page, last, err
	}
	if !more && b.walks() {
		last, more, err = b.walked(r)
	}
	if more {
		page.Next = last.String()
	}
	return page, last, err
}

func (b *pageBuilder) walks() bool { return len(b.ofJob)+len(b.ofState) > 0 }

// walked finds the last candidate of a walk that used up its budget.
func (b *pageBuilder) walked(r *reader) (c storekit.Cursor, full bool, err error) {
	args := append([]any{b.mode}, b.args[:b.walkArgs]...)
	text := fmt.Sprintf("select %s, id from (%s) c order by %s offset $%d::bigint limit 1", b.value(""), b.candidates, b.order(""), b.walkArgs+1)
	err = r.eachText("page end", text, append(args, int64(budget-1)), func(rows rows) error {
		full = true
		return rows.Scan(&c.Value, &c.ID)
	})
	return c, full, err
}
