package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The floor on PostgreSQL: the statements that the storage model cannot do without, with no features, no isolation of callers, no
// statistics and no indexes for lists. Inserts, claims and finishes are durable. Args are neither encoded nor decoded beyond the
// number.
var floorPostgres = system{name: "floor-postgres", on: onPostgres, shared: true, open: openFloorPostgres}

const (
	// floorClaim is how many jobs one claim takes, and floorFinishers how many connections write ends, each up to twice as many at once.
	floorClaim     = 500
	floorFinishers = 2

	floorPostgresSchema = `
create table if not exists jobs (id bigserial primary key, queue int not null, kind int not null, prio smallint not null default 0,
	max_attempts smallint not null default 10, run_at timestamptz not null default now(), created_at timestamptz not null default now(),
	args bytea not null, meta bytea);
create table if not exists ready (queue int not null, prio smallint not null, attempt smallint not null default 0, kind int not null,
	id bigint not null, primary key (queue, prio, id));
create table if not exists lease (id bigint primary key, at timestamptz not null default now(), server int not null, attempt smallint not null);
create table if not exists done (id bigint primary key, finished_at timestamptz not null, ms int not null, state smallint not null,
	attempt smallint not null)`

	floorInsert = `with j as (insert into jobs (queue, kind, args) values (3, 5, $1) returning id)
		insert into ready (queue, prio, kind, id) select 3, 0, 5, id from j`
	floorTake = `with x as (delete from ready where ctid = any(array(
			select ctid from ready where queue = 3 and prio = 0 and id > $1 order by prio, id limit $2 for update skip locked)) returning id, attempt),
		l as (insert into lease (id, server, attempt) select id, $3, attempt + 1 from x returning id)
		select j.id, j.kind, j.args from l join jobs j on j.id = l.id`
	floorFinish = `with x as (delete from lease where id = any($1) and server = $2 returning id, attempt)
		insert into done (id, finished_at, ms, state, attempt) select id, now(), 3, 2, attempt from x`
	floorIdle = "select not exists (select 1 from ready) and not exists (select 1 from lease)"
)

type floorPool struct {
	pool *pgxpool.Pool
	// claims has a connection of its own.
	claims *pgxpool.Conn
	server int32
}

func openFloorPostgres(ctx context.Context, url string) (instance, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = 32 + floorFinishers + 2
	cfg.ConnConfig.RuntimeParams["synchronous_commit"] = "on"
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	f := &floorPool{pool: pool}
	if _, err = pool.Exec(ctx, floorPostgresSchema); err == nil {
		f.claims, err = pool.Acquire(ctx)
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	f.server = int32(f.claims.Conn().PgConn().PID())
	return f, nil
}

func floorArgs(n int64) []byte {
	return []byte(`{"n":` + strconv.FormatInt(n, 10) + `,"text":"` + text + `"}`)
}

func (f *floorPool) insert(ctx context.Context, first int64, n int) error {
	if n == 1 {
		_, err := f.pool.Exec(ctx, floorInsert, floorArgs(first))
		return err
	}
	return pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) error {
		var last int64
		// One caller inserts many, so nobody takes an id between the two calls of the sequence.
		if err := tx.QueryRow(ctx, "select setval('jobs_id_seq', nextval('jobs_id_seq') + $1 - 1)", n).Scan(&last); err != nil {
			return err
		}
		id := last - int64(n) + 1
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"jobs"}, []string{"id", "queue", "kind", "args"}, pgx.CopyFromSlice(n, func(i int) ([]any, error) {
			return []any{id + int64(i), int32(3), int32(5), floorArgs(first + int64(i))}, nil
		}))
		if err != nil {
			return err
		}
		_, err = tx.CopyFrom(ctx, pgx.Identifier{"ready"}, []string{"queue", "prio", "kind", "id"}, pgx.CopyFromSlice(n, func(i int) ([]any, error) {
			return []any{int32(3), int16(0), int32(5), id + int64(i)}, nil
		}))
		return err
	})
}

// floorJob is a claimed job.
type floorJob struct{ id, n int64 }

// floorRun is one drain: a claimer, workers, and finishers that write what is pending in batches.
type floorRun struct {
	f        *floorPool
	jobs     chan floorJob
	finished chan int64
	cancel   context.CancelFunc
	done     sync.WaitGroup
	mu       sync.Mutex
	err      error
}

func (f *floorPool) work(ctx context.Context, workers int, handle func(int64)) (func() error, error) {
	ctx, cancel := context.WithCancel(ctx)
	r := &floorRun{f: f, jobs: make(chan floorJob, floorClaim), finished: make(chan int64, 4*floorClaim), cancel: cancel}
	calls := context.WithoutCancel(ctx)
	r.done.Go(func() { defer close(r.jobs); r.fail(r.claim(ctx, calls)) })
	r.done.Go(func() {
		defer close(r.finished)
		var running sync.WaitGroup
		for range workers {
			running.Go(func() {
				for j := range r.jobs {
					handle(j.n)
					r.finished <- j.id
				}
			})
		}
		running.Wait()
	})
	for range floorFinishers {
		r.done.Go(func() { r.fail(r.finish(calls)) })
	}
	return func() error { cancel(); r.done.Wait(); return r.err }, nil
}

// fail keeps the first error, and ends the run.
func (r *floorRun) fail(err error) {
	if err == nil {
		return
	}
	r.cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
}

// claim looks above the last id that it took, and from the start when there is nothing.
func (r *floorRun) claim(ctx, calls context.Context) error {
	mark := int64(0)
	for ctx.Err() == nil {
		found, err := r.f.take(calls, mark)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			if mark == 0 {
				<-time.After(100 * time.Microsecond)
			}
			mark = 0
		}
		for _, j := range found {
			mark = max(mark, j.id)
			r.jobs <- j
		}
	}
	return nil
}

func (r *floorRun) finish(ctx context.Context) error {
	ids := make([]int64, 0, 2*floorClaim)
	var failed error
	for id := range r.finished {
		ids = append(ids[:0], id)
	more:
		for len(ids) < cap(ids) {
			select {
			case id, ok := <-r.finished:
				if !ok {
					break more
				}
				ids = append(ids, id)
			default:
				break more
			}
		}
		if failed == nil { // else it only lets the workers go on to their end
			_, failed = r.f.pool.Exec(ctx, floorFinish, ids, r.f.server)
			r.fail(failed)
		}
	}
	return failed
}

func (f *floorPool) take(ctx context.Context, mark int64) ([]floorJob, error) {
	rows, err := f.claims.Query(ctx, floorTake, mark, floorClaim, f.server)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []floorJob
	for rows.Next() {
		v := rows.RawValues()
		if rows.FieldDescriptions()[0].Format != pgtype.BinaryFormatCode {
			return nil, errors.New("the floor reads ids in binary form")
		}
		n, err := floorNumber(string(v[2]))
		if err != nil {
			return nil, err
		}
		found = append(found, floorJob{id: int64(binary.BigEndian.Uint64(v[0])), n: n})
	}
	return found, rows.Err()
}

// floorNumber reads the number from args.
func floorNumber(args string) (int64, error) {
	number, _, ok := strings.Cut(strings.TrimPrefix(args, `{"n":`), ",")
	if !ok {
		return 0, fmt.Errorf("args %.40q have no number", args)
	}
	return strconv.ParseInt(number, 10, 64)
}

func (f *floorPool) pickup(ctx context.Context, n int64) (time.Duration, error) {
	begin := time.Now()
	if err := f.insert(ctx, n, 1); err != nil {
		return 0, err
	}
	found, err := f.take(ctx, 0)
	took := time.Since(begin)
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("a claim of the one job that there is brought %d", len(found))
	}
	if err != nil {
		return 0, err
	}
	_, err = f.pool.Exec(ctx, floorFinish, []int64{found[0].id}, f.server)
	return took, err
}

func (f *floorPool) idle(ctx context.Context) (idle bool, err error) {
	err = f.pool.QueryRow(ctx, floorIdle).Scan(&idle)
	return idle, err
}

func (f *floorPool) close() error {
	f.claims.Release()
	f.pool.Close()
	return nil
}
