package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
)

// The floor: bare statements of the same shape, on narrow tables without indexes, statistics, isolation of calls or any
// feature. The store's figures are quoted as a part of these, measured in the same run.

const floorSchema = `
create table f_jobs (id integer primary key, queue text not null, kind text not null, args blob not null) strict;
create table f_ready (queue text not null, id integer not null, primary key (queue, id)) strict, without rowid;
create table f_lease (id integer primary key, server text not null) strict;
create table f_done (id integer primary key, at integer not null) strict;`

type floor struct {
	b    *testing.B
	conn *sql.Conn
	stmt map[string]*sql.Stmt
	last int64
}

func newFloor(b *testing.B) *floor {
	conn, err := newPool(b).Conn(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	if _, err := conn.ExecContext(context.Background(), "pragma journal_mode = wal;"+floorSchema); err != nil {
		b.Fatal(err)
	}
	return &floor{b: b, conn: conn, stmt: map[string]*sql.Stmt{}}
}

func (f *floor) prepared(query string) *sql.Stmt {
	if f.stmt[query] == nil {
		stmt, err := f.conn.PrepareContext(context.Background(), query)
		if err != nil {
			f.b.Fatal(err)
		}
		f.stmt[query] = stmt
	}
	return f.stmt[query]
}

func (f *floor) exec(query string, args ...any) {
	if _, err := f.prepared(query).Exec(args...); err != nil {
		f.b.Fatal(query, err)
	}
}

func (f *floor) insert(n int) {
	const chunk = 50
	first := f.last
	f.exec("begin immediate")
	for n > 0 {
		k := min(chunk, n)
		if k < chunk {
			k = 1
		}
		args := []any{"default", "email:send"}
		for range k {
			f.last++
			args = append(args, f.last, payload)
		}
		f.exec("insert into f_jobs (id, args, queue, kind) select column1, column2, ?1, ?2 from (values (?, ?)"+strings.Repeat(", (?, ?)", k-1)+")", args...)
		n -= k
	}
	f.exec("insert into f_ready select queue, id from f_jobs where id > ? and id <= ?", first, f.last)
	f.exec("commit")
}

// claim takes up to n jobs and returns the last id, 0 when there are none.
func (f *floor) claim(n int) (list string, last int64) {
	f.exec("begin immediate")
	rows, err := f.prepared("select r.id, j.kind, j.args from f_ready r join f_jobs j on j.id = r.id where r.queue = ? order by r.id limit ?").Query("default", n)
	if err != nil {
		f.b.Fatal(err)
	}
	ids := []byte{}
	for rows.Next() {
		var kind string
		var args []byte
		if err := rows.Scan(&last, &kind, &args); err != nil {
			f.b.Fatal(err)
		}
		ids = appendID(ids, last)
	}
	rows.Close()
	f.exec("insert into f_lease select id, 'server' from f_ready where queue = ? and id <= ?", "default", last)
	f.exec("delete from f_ready where queue = ? and id <= ?", "default", last)
	f.exec("commit")
	return closeIDs(ids), last
}

func (f *floor) finish(list string) {
	f.exec("begin immediate")
	f.exec("insert into f_done select value, 1 from json_each(?)", list)
	f.exec("delete from f_lease where id in (select value from json_each(?))", list)
	f.exec("commit")
}

func BenchmarkFloorInsertMany(b *testing.B) {
	for _, size := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			f := newFloor(b)
			n := 0
			for b.Loop() {
				f.insert(size)
				n += size
			}
			rate(b, n)
		})
	}
}

// BenchmarkFloorInsertSingle is what eight callers get when each transaction holds a job of each.
func BenchmarkFloorInsertSingle(b *testing.B) {
	f := newFloor(b)
	for i := 0; i < b.N; i += 8 {
		f.insert(8)
	}
	rate(b, b.N)
}

func BenchmarkFloorDrain(b *testing.B) {
	for _, size := range []int{100, 500} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			f := newFloor(b)
			for n := 0; n < b.N; n += 10_000 {
				f.insert(min(10_000, b.N-n))
			}
			b.ResetTimer()
			for {
				list, last := f.claim(size)
				if last == 0 {
					break
				}
				f.finish(list)
			}
			rate(b, b.N)
		})
	}
}
