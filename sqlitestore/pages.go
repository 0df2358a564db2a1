package sqlitestore

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// budget is how many candidates a page walks over when a filter has no index. A page that comes back short then still has a Next,
// and the walk goes on from there.
const budget = 10_000

// farthest is how many candidates a page walks over that would be empty otherwise.
const farthest = 100_000

// Jobs implements driver.Inspector. Index reads are: every state by itself; queue for scheduled, throttled, awaiting,
// enqueued and failed; kind for enqueued and failed; retries; batches of less than 10,000 jobs. Every other filter walks at most
// 10,000 jobs per page, and on to 100,000 while it finds nothing.
func (s *Store) Jobs(ctx context.Context, q driver.JobQuery) (driver.Page, error) {
	if err := storekit.CheckQuery(q); err != nil {
		return driver.Page{}, err
	}
	cursor, resumed, err := storekit.ParseCursor(q.Cursor)
	if err != nil {
		return driver.Page{}, err
	}
	var page driver.Page
	err = s.snapshot(ctx, func(r *reader) error {
		next := pageBuilder{query: q, limit: storekit.PageLimit(q.Limit), prefix: s.prefix}
		if resumed {
			next.cursor = &cursor
		}
		if next.byBatch, err = r.smallBatch(q.BatchID); err != nil {
			return err
		}
		page, err = next.walk(r)
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
func (b pageBuilder) walk(r *reader) (page driver.Page, err error) {
	for walked := 0; walked < farthest; walked += budget {
		step := b
		step.build()
		var last storekit.Cursor
		page, last, err = step.read(r)
		if err != nil || len(page.Records) > 0 || page.Next == "" {
			return page, err
		}
		b.cursor = &last
	}
	return page, nil
}

// pageBuilder writes the query for one page: candidates in the order of the state from an index, cut at the budget, joined
// with their payloads and filtered.
type pageBuilder struct {
	query  driver.JobQuery
	limit  int
	prefix string
	cursor *storekit.Cursor
	// byBatch says that the candidates are the jobs of the query's batch, all of them.
	byBatch bool

	candidates string
	args       []any
	filter     string
	filterArgs []any
	order      string
	walks      bool
}

// condition is a part of a where clause with its parameters.
type condition struct {
	text string
	args []any
}

// place describes the table of a state: its order, and the filters that its indexes have.
type place struct {
	table, value, order     string
	queue, kind, retries    bool
	finished, cancel, pends bool
	state                   int64
}

var places = map[driver.State]place{
	driver.Awaiting:   {table: "awaiting", value: "0", order: "desc", queue: true, pends: true},
	driver.Scheduled:  {table: "scheduled", value: "run_at", order: "asc", queue: true, retries: true},
	driver.Throttled:  {table: "throttled", value: "rank", order: "asc", queue: true},
	driver.Processing: {table: "lease", value: "0", order: "desc", cancel: true},
	driver.Failed:     {table: "failed", value: "finished_at", order: "desc", queue: true, kind: true, finished: true},
	driver.Succeeded:  {table: "done", value: "finished_at", order: "desc", finished: true, state: doneSucceeded},
	driver.Deleted:    {table: "done", value: "finished_at", order: "desc", finished: true, state: doneDeleted},
}

func (b *pageBuilder) build() {
	q := &b.query
	if b.byBatch {
		b.buildBatch()
		return
	}
	if q.State == driver.Enqueued {
		b.order = "asc"
		b.addFilter(false, false, q.BatchID != 0, false)
		b.buildLanes()
		return
	}
	p := places[q.State]
	b.order = p.order
	var where []condition
	add := func(text string, args ...any) { where = append(where, condition{text, args}) }
	if p.state != 0 {
		add("state = ?", p.state)
	}
	byQueue := q.Queue != "" && p.queue
	byKind := q.Kind != "" && p.kind && !byQueue
	byRetries := q.Retries && p.retries && !byQueue
	if byQueue {
		add("queue = ?", q.Queue)
	}
	if byKind {
		add("kind = ?", q.Kind)
	}
	if byRetries {
		add("attempt > 0")
	}
	b.addFilter(q.Queue != "" && !byQueue, q.Kind != "" && !byKind, q.BatchID != 0, q.Retries && p.retries && !byRetries)
	b.candidates, b.args = p.candidates(b, where)
}

// candidates reads the table of a state in its order. After a cursor it has two parts, since SQLite seeks by a value and an
// id together only if they are given as equal and greater: the rest of the rows with the cursor's value, and the rows
// beyond it.
func (p *place) candidates(b *pageBuilder, where []condition) (string, []any) {
	order := p.value + " " + p.order + ", id " + p.order
	if p.value == "0" {
		order = "id " + p.order
	}
	part := func(more ...condition) (string, []any) {
		var texts []string
		var args []any
		for _, c := range slices.Concat(where, more) {
			texts = append(texts, c.text)
			args = append(args, c.args...)
		}
		text := "select " + p.columns("") + " from " + b.prefix + p.table
		if len(texts) > 0 {
			text += " where " + strings.Join(texts, " and ")
		}
		return text + " order by " + order + " limit ?", append(args, int64(b.most()))
	}
	beyond := " > ?"
	if p.order == "desc" {
		beyond = " < ?"
	}
	switch {
	case b.cursor == nil:
		return part()
	case p.value == "0":
		return part(condition{"id" + beyond, []any{b.cursor.ID}})
	}
	same, args := part(condition{p.value + " = ?", []any{b.cursor.Value}}, condition{"id" + beyond, []any{b.cursor.ID}})
	after, afterArgs := part(condition{p.value + beyond, []any{b.cursor.Value}})
	text := "select * from (" + same + ") union all select * from (" + after + ") order by value " + p.order + ", id " + p.order + " limit ?"
	return text, append(append(args, afterArgs...), int64(b.most()))
}

// columns are those that every kind of candidate has. alias stands before their names.
func (p *place) columns(alias string) string {
	pick := func(has bool, column string) string {
		if has {
			return alias + column
		}
		return "0 as " + column
	}
	value := p.value
	if value != "0" {
		value = alias + value
	}
	columns := []string{alias + "id", value + " as value"}
	if p.pends {
		columns = append(columns, "0 as claim", "0 as attempt", alias+"run_at", "0 as attempted_at", "'' as server")
	} else {
		columns = append(columns, alias+"claim", alias+"attempt", alias+"run_at", alias+"attempted_at", alias+"server")
	}
	columns = append(columns, pick(p.finished, "finished_at"), pick(p.cancel, "cancel"), pick(p.pends, "pending"))
	return strings.Join(columns, ", ")
}

// ready is the place of the enqueued jobs, where a page does not merge their lanes.
var ready = place{table: "ready", value: "rank", order: "asc"}

// buildBatch looks for the members of a batch in the table of the state, and sorts those that it finds.
func (b *pageBuilder) buildBatch() {
	q := &b.query
	p, same := places[q.State], ""
	if q.State == driver.Enqueued {
		p, same = ready, "s.queue = m.queue and s.kind = m.kind and s.rank = -m.priority and "
	}
	b.order = p.order
	b.addFilter(q.Queue != "", q.Kind != "", false, q.Retries && p.retries)
	value := p.value
	if value != "0" {
		value = "s." + value
	}
	where, args := "m.batch_id = ? and m.batch_id > 0", []any{q.BatchID}
	if p.state != 0 {
		where, args = where+" and s.state = ?", append(args, p.state)
	}
	if b.cursor != nil {
		beyond := map[string]string{"asc": ">", "desc": "<"}[p.order]
		where += " and (" + value + ", s.id) " + beyond + " (?, ?)"
		args = append(args, b.cursor.Value, b.cursor.ID)
	}
	b.candidates = "select " + p.columns("s.") + " from " + b.prefix + "jobs m cross join " + b.prefix + p.table + " s on " + same + "s.id = m.id where " +
		where + " order by value " + p.order + ", s.id " + p.order + " limit ?"
	b.args = append(args, int64(b.most()))
}

// buildLanes merges the lanes of the enqueued jobs, as claim_pick does.
func (b *pageBuilder) buildLanes() {
	q := &b.query
	after, afterArgs := "", []any(nil)
	if b.cursor != nil {
		after, afterArgs = "and (r.rank, r.id) > (?, ?) ", []any{b.cursor.Value, b.cursor.ID}
	}
	var of []string
	var ofArgs []any
	if q.Queue != "" {
		of, ofArgs = append(of, "lane.queue = ?"), append(ofArgs, q.Queue)
	}
	if q.Kind != "" {
		of, ofArgs = append(of, "lane.kind = ?"), append(ofArgs, q.Kind)
	}
	where := ""
	if len(of) > 0 {
		where = " where " + strings.Join(of, " and ")
	}
	b.candidates = strings.ReplaceAll(`with recursive
lane (queue, kind) as (
    select j.queue, j.kind from {prefix}jobs j where j.id = (select id from {prefix}ready where queue >= '' order by queue, kind, rank, id limit 1)
    union all
    select j.queue, j.kind from lane cross join {prefix}jobs j
    on j.id = coalesce(
        (select r.id from {prefix}ready r where r.queue = lane.queue and r.kind > lane.kind order by r.kind, r.rank, r.id limit 1),
        (select r.id from {prefix}ready r where r.queue > lane.queue order by r.queue, r.kind, r.rank, r.id limit 1))
),
line (queue, kind, rank, id) as (
    select lane.queue, lane.kind, -j.priority, j.id from lane cross join {prefix}jobs j
    on j.id = (select r.id from {prefix}ready r where r.queue = lane.queue and r.kind = lane.kind `+after+`order by r.rank, r.id limit 1)`+where+`
    union all
    select line.queue, line.kind, -j.priority, j.id from line cross join {prefix}jobs j
    on j.id = coalesce(
        (select r.id from {prefix}ready r where r.queue = line.queue and r.kind = line.kind and r.rank = line.rank and r.id > line.id
            order by r.id limit 1),
        (select r.id from {prefix}ready r where r.queue = line.queue and r.kind = line.kind and r.rank > line.rank
            order by r.rank, r.id limit 1))
    order by 3, 4 limit ?
)
select r.id, r.rank as value, r.claim, r.attempt, r.run_at, r.attempted_at, r.server, 0 as finished_at, 0 as cancel, 0 as pending
from line cross join {prefix}ready r on r.queue = line.queue and r.kind = line.kind and r.rank = line.rank and r.id = line.id`,
		storekit.PrefixMark, b.prefix)
	b.args = append(append(append(b.args, afterArgs...), ofArgs...), int64(b.most()))
}

// addFilter adds the conditions that no index of the state has.
func (b *pageBuilder) addFilter(queue, kind, batch, retries bool) {
	q := &b.query
	for _, c := range []struct {
		on        bool
		condition string
		args      []any
	}{
		{queue, "j.queue = ?", []any{q.Queue}},
		{kind, "j.kind = ?", []any{q.Kind}},
		{batch, "j.batch_id = ?", []any{q.BatchID}},
		{retries, "c.attempt > 0", nil},
		// The text is looked for first: to read it as JSON costs more than to reach the row.
		{q.Tag != "", "instr(j.tags, ?) > 0 and exists (select 1 from json_each(nullif(j.tags, '')) where value = ?)", []any{storekit.TagText(q.Tag), q.Tag}},
	} {
		if !c.on {
			continue
		}
		b.walks = true
		b.filter += map[bool]string{true: " where ", false: " and "}[b.filter == ""] + c.condition
		b.filterArgs = append(b.filterArgs, c.args...)
	}
}

// most is how many candidates the query reads.
func (b *pageBuilder) most() int {
	if b.walks {
		return budget
	}
	return b.limit + 1
}

func (b *pageBuilder) text() string {
	return strings.ReplaceAll(`select j.id, j.queue, j.kind, j.priority, j.max_attempts, j.timeout, j.created_at, j.batch_id, j.after_batch, j.limit_key,
    j.recurring_id, j.parents, j.title, j.tags, coalesce(m.meta, j.meta), j.args, coalesce(p.progress, 0),
    c.claim, c.attempt, c.run_at, c.attempted_at, c.server, c.finished_at, c.cancel, c.pending, c.value
from (`+b.candidates+`) c cross join {prefix}jobs j on j.id = c.id
left join {prefix}metas m on m.id = c.id
left join {prefix}progress p on p.id = c.id`+b.filter+`
order by c.value `+b.order+`, c.id `+b.order+` limit ?`, storekit.PrefixMark, b.prefix)
}

// read reads the page, and the place where the next one begins if there is one.
func (b *pageBuilder) read(r *reader) (page driver.Page, last storekit.Cursor, err error) {
	more := false
	args := append(append(append([]any(nil), b.args...), b.filterArgs...), int64(b.limit+1))
	err = each(r.ctx, r.db, "page", b.text(), args, func(rows *sql.Rows) error {
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
	if !more && b.walks {
		last, more, err = b.walked(r)
	}
	if more {
		page.Next = last.String()
	}
	return page, last, err
}

// walked finds the last candidate of a walk that used up its budget.
func (b *pageBuilder) walked(r *reader) (c storekit.Cursor, full bool, err error) {
	args := append(append([]any(nil), b.args...), int64(budget-1))
	err = each(r.ctx, r.db, "page end", "select value, id from ("+b.candidates+") limit 1 offset ?", args, func(rows *sql.Rows) error {
		full = true
		return rows.Scan(&c.Value, &c.ID)
	})
	return c, full, err
}
