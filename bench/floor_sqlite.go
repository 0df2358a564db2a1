package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The floor on SQLite: the statements that the storage model cannot do without, on one connection, with everything prepared, no
// features, no isolation of callers, no lease times and no statistics.
var floorSQLite = system{name: "floor-sqlite", on: onSQLite, open: openFloor}

const (
	floorBatch  = 1000
	floorSchema = `
create table jobs (id integer primary key, queue text not null, kind text not null, created_at integer not null, args blob not null) strict;
create table ready (queue text not null, kind text not null, rank integer not null, id integer not null, attempt integer not null,
	primary key (queue, kind, rank, id)) strict, without rowid;
create table lease (id integer primary key, claim integer not null, attempt integer not null, at integer not null, server text not null) strict;
create table done (id integer primary key, state integer not null, finished_at integer not null) strict;
create index done_list on done (state, finished_at, id);`
)

type floorInstance struct {
	db   *sql.DB
	conn *sql.Conn
	// mu is the one writer.
	mu   sync.Mutex
	next int64

	pending []chan error
	queue   []int64
	wake    chan struct{}

	begin, commit, job, ready, take, lease, read, finish, end *sql.Stmt
}

func openFloor(ctx context.Context, dir string) (instance, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, sqliteFile)+"?_pragma=journal_mode(WAL)&_pragma=synchronous("+synchronous+")")
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, floorSchema); err != nil {
		return nil, err
	}
	f := &floorInstance{db: db, conn: conn, wake: make(chan struct{}, 1)}
	for _, p := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&f.begin, "begin immediate"},
		{&f.commit, "commit"},
		{&f.job, "insert into jobs values (?, 'default', 'bench', ?, ?)"},
		{&f.ready, "insert into ready select 'default', 'bench', 0, value, 0 from json_each(?)"},
		{&f.read, `select r.id, j.args from ready r cross join jobs j on j.id = r.id
			where r.queue = 'default' and r.kind = 'bench' order by r.rank, r.id limit ?`},
		{&f.lease, "insert into lease select id, 1, attempt + 1, ?2, 'floor' from ready where queue = 'default' and kind = 'bench' and rank = 0 and id <= ?1"},
		{&f.take, "delete from ready where queue = 'default' and kind = 'bench' and rank = 0 and id <= ?"},
		{&f.finish, "insert into done select l.id, 1, ?2 from json_each(?1) e cross join lease l on l.id = e.value"},
		{&f.end, "delete from lease where id in (select value from json_each(?))"},
	} {
		if *p.stmt, err = conn.PrepareContext(ctx, p.text); err != nil {
			return nil, fmt.Errorf("%s: %w", p.text, err)
		}
	}
	go f.merge(context.WithoutCancel(ctx))
	return f, nil
}

// insert stores many jobs in one transaction; single jobs of several callers share the transactions of merge.
func (f *floorInstance) insert(ctx context.Context, first int64, n int) error {
	if n > 1 {
		numbers := make([]int64, n)
		for i := range numbers {
			numbers[i] = first + int64(i)
		}
		return f.store(ctx, numbers)
	}
	answer := make(chan error, 1)
	f.mu.Lock()
	f.queue = append(f.queue, first)
	f.pending = append(f.pending, answer)
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
	return <-answer
}

func (f *floorInstance) merge(ctx context.Context) {
	for range f.wake {
		for {
			// Callers that were just answered come back at once, and share the next transaction then.
			runtime.Gosched()
			f.mu.Lock()
			numbers, answers := f.queue, f.pending
			f.queue, f.pending = nil, nil
			f.mu.Unlock()
			if len(numbers) == 0 {
				break
			}
			err := f.store(ctx, numbers)
			for _, a := range answers {
				a <- err
			}
		}
	}
}

func (f *floorInstance) store(ctx context.Context, numbers []int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tx(ctx, func() error {
		ids := make([]int64, len(numbers))
		at := time.Now().UnixMicro()
		for i, n := range numbers {
			f.next++
			ids[i] = f.next
			args, err := json.Marshal(newPayload(n))
			if err != nil {
				return err
			}
			if _, err := f.job.ExecContext(ctx, f.next, at, args); err != nil {
				return err
			}
		}
		_, err := f.ready.ExecContext(ctx, list(ids))
		return err
	})
}

// work claims and finishes in turn. Handlers run in as many goroutines as there are workers.
func (f *floorInstance) work(ctx context.Context, workers int, handle func(int64)) (func() error, error) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- f.loop(ctx, workers, handle) }()
	return func() error { cancel(); return <-done }, nil
}

func (f *floorInstance) loop(ctx context.Context, workers int, handle func(int64)) error {
	calls := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		f.mu.Lock()
		ids, numbers, err := f.claim(calls)
		f.mu.Unlock()
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			<-time.After(100 * time.Microsecond)
			continue
		}
		var group sync.WaitGroup
		for w := range min(workers, len(numbers)) {
			group.Go(func() {
				for i := w; i < len(numbers); i += workers {
					handle(numbers[i])
				}
			})
		}
		group.Wait()
		f.mu.Lock()
		err = f.complete(calls, ids)
		f.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *floorInstance) claim(ctx context.Context) (ids, numbers []int64, err error) {
	err = f.tx(ctx, func() error {
		rows, err := f.read.QueryContext(ctx, floorBatch)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id int64
			var args sql.RawBytes
			if err := rows.Scan(&id, &args); err != nil {
				return err
			}
			var p payload
			if err := json.Unmarshal(args, &p); err != nil {
				return err
			}
			ids, numbers = append(ids, id), append(numbers, p.N)
		}
		if err := rows.Err(); err != nil || len(ids) == 0 {
			return err
		}
		last := ids[len(ids)-1]
		if _, err := f.lease.ExecContext(ctx, last, time.Now().UnixMicro()); err != nil {
			return err
		}
		_, err = f.take.ExecContext(ctx, last)
		return err
	})
	return ids, numbers, err
}

func (f *floorInstance) complete(ctx context.Context, ids []int64) error {
	return f.tx(ctx, func() error {
		if _, err := f.finish.ExecContext(ctx, list(ids), time.Now().UnixMicro()); err != nil {
			return err
		}
		_, err := f.end.ExecContext(ctx, list(ids))
		return err
	})
}

func (f *floorInstance) pickup(ctx context.Context, n int64) (time.Duration, error) {
	begin := time.Now()
	if err := f.store(ctx, []int64{n}); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	ids, _, err := f.claim(ctx)
	took := time.Since(begin)
	if err != nil {
		return 0, err
	}
	return took, f.complete(ctx, ids)
}

func (f *floorInstance) tx(ctx context.Context, do func() error) error {
	if _, err := f.begin.ExecContext(ctx); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	_, err := f.commit.ExecContext(ctx)
	return err
}

func (f *floorInstance) idle(ctx context.Context) (idle bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err = f.conn.QueryRowContext(ctx, "select not exists (select 1 from ready) and not exists (select 1 from lease)").Scan(&idle)
	return idle, err
}

func (f *floorInstance) close() error {
	close(f.wake)
	f.conn.Close()
	return f.db.Close()
}

func list(ids []int64) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(id, 10))
	}
	b.WriteByte(']')
	return b.String()
}
