package pgstore

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/kilnjobs/kiln/driver"
)

// copyFrom is how many jobs of a call are worth a COPY: it takes four round trips and 3 ms of the server's time, and then 3.4
// microseconds per job, where a statement takes one round trip and 5.6 microseconds.
const copyFrom = 2000

// copyIn inserts prompt jobs by COPY.
func (s *Store) copyIn(ctx context.Context, drafts []draft) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	return s.retried(ctx, func() error { return s.copyOnce(ctx, drafts) })
}

func (s *Store) copyOnce(ctx context.Context, drafts []draft) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	w := &work{runner: runner{ctx, pgxQuerier{conn}, s.texts}, store: s}
	var ids []int64
	batch := s.opening(begin, lockTimeout, &w.nowAt)
	batch.Queue(s.texts.SQL("insert_ids"), int64(len(drafts))).QueryRow(func(row pgx.Row) error { return row.Scan(&ids) })
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		rollback(conn)
		return named("begin", err)
	}
	for i := range drafts {
		d := &drafts[i]
		d.id, d.state, d.startAt = ids[i], driver.Enqueued, w.nowAt
		w.ready(d.queue, d.rank(), d.id)
	}
	for _, table := range []struct {
		name string
		rows []byte
	}{{"copy_jobs", copyJobs(drafts)}, {"copy_ready", copyReady(drafts)}} {
		if err := copyRows(ctx, conn.Conn().PgConn(), s.texts.SQL(table.name), table.rows); err != nil {
			rollback(conn)
			return named(table.name, err)
		}
	}
	if err := commit(ctx, conn); err != nil {
		return err
	}
	s.tell(w)
	return nil
}

func copyRows(ctx context.Context, conn *pgconn.PgConn, text string, rows []byte) error {
	_, err := conn.CopyFrom(ctx, bytes.NewReader(rows), text)
	return err
}

// copyWriter writes rows in the binary format of COPY.
type copyWriter struct{ b []byte }

func newCopyWriter(size int) *copyWriter {
	w := &copyWriter{make([]byte, 0, size+64)}
	w.b = append(w.b, "PGCOPY\n\xff\r\n\x00"...)
	w.b = append(w.b, 0, 0, 0, 0, 0, 0, 0, 0) // no flags, no extension
	return w
}

func (w *copyWriter) row(columns int16) { w.b = binary.BigEndian.AppendUint16(w.b, uint16(columns)) }
func (w *copyWriter) int64(n int64) {
	w.b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(w.b, 8), uint64(n))
}
func (w *copyWriter) int32(n int32) {
	w.b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(w.b, 4), uint32(n))
}
func (w *copyWriter) int16(n int16) {
	w.b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint32(w.b, 2), uint16(n))
}
func (w *copyWriter) text(s string) {
	w.b = append(binary.BigEndian.AppendUint32(w.b, uint32(len(s))), s...)
}
func (w *copyWriter) bytes(b []byte) {
	w.b = append(binary.BigEndian.AppendUint32(w.b, uint32(len(b))), b...)
}

// optional is a text, or null for an empty one.
func (w *copyWriter) optional(s string) {
	if s == "" {
		w.b = append(w.b, 0xff, 0xff, 0xff, 0xff)
		return
	}
	w.text(s)
}

func (w *copyWriter) end() []byte { return append(w.b, 0xff, 0xff) }

func copyJobs(drafts []draft) []byte {
	size := 0
	for i := range drafts {
		d := &drafts[i]
		size += 120 + len(d.args) + len(d.queue) + len(d.kind) + len(d.meta) + len(d.tags) + len(d.title)
	}
	w := newCopyWriter(size)
	for i := range drafts {
		d := &drafts[i]
		w.row(13)
		w.int64(d.id)
		w.int64(d.startAt)
		w.int64(d.timeout)
		w.int32(d.maxAttempts)
		w.int32(d.flags)
		w.int16(d.priority)
		w.text(d.queue)
		w.text(d.kind)
		w.optional(d.recurring)
		w.optional(d.title)
		w.optional(d.tags)
		w.optional(d.meta)
		w.bytes(d.args)
	}
	return w.end()
}

func copyReady(drafts []draft) []byte {
	size := 0
	for i := range drafts {
		size += 76 + len(drafts[i].queue) + len(drafts[i].kind)
	}
	w := newCopyWriter(size)
	for i := range drafts {
		d := &drafts[i]
		w.row(8)
		w.int64(d.id)
		w.int64(d.startAt)
		w.int32(d.flags)
		w.int32(0)
		w.int32(0)
		w.int32(d.rank())
		w.text(d.queue)
		w.text(d.kind)
	}
	return w.end()
}
