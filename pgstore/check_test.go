package pgstore

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// TestCheckFinds spoils a store in every way that Check knows.
func TestCheckFinds(t *testing.T) {
	ctx := context.Background()
	pool := newPool(t)
	s := openStore(t, pool, newSchema(t))
	batch, err := s.OpenBatch(ctx, driver.NewBatch{})
	if err != nil {
		t.Fatal(err)
	}
	jobs := plainJobs(6)
	jobs[0].UniqueKey = []byte("key")
	jobs[1].LimitKey, jobs[1].LimitMax = "limit", 1
	jobs[2].LimitKey, jobs[2].LimitMax = "limit", 1
	jobs[3].Deadline = time.Now().Add(time.Hour)
	jobs[4].BatchID = batch
	jobs[5].Parents = []driver.Parent{{Index: 4, On: driver.OnSucceeded}}
	out, err := s.Insert(ctx, jobs)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(ctx); err != nil {
		t.Fatal(err)
	}
	if out[5].ID != 6 {
		t.Fatalf("ids are %+v, want 1 to 6", out)
	}
	for _, c := range []struct{ spoil, want string }{
		{"delete from {prefix}ready where id = 1", "job 1: job in 0 states"},
		{"insert into {prefix}lease (id, run_at, attempted_at, flags, claim, attempt, server) select id, 1, 1, flags, 1, 1, '' from {prefix}ready where id = 1", "job 1: job in 2 states"},
		{"update {prefix}ready set kind = 'other' where id = 1", "job 1: ready row that does not fit its job"},
		{"update {prefix}ready set attempt = 3 where id = 1", "job 1: ready row that does not fit its job"},
		{"insert into {prefix}metas (id, meta) values (1, '')", "job 1: flags that do not fit the side tables"},
		{"update {prefix}ready set flags = flags | 128 where id = 1", "job 1: flags that do not fit the side tables"},
		{"update {prefix}ready set flags = flags & ~32 where id = 4", "job 4: flags that do not fit the job"},
		{"delete from {prefix}deadlines", "job 4: deadline row that does not fit its job"},
		{"insert into {prefix}deadlines (deadline, id) values (1, 1)", "job 1: deadline row of a job that does not wait"},
		{"insert into {prefix}outputs (id, output) values (99, '1')", "job 99: output of no job"},
		{"insert into {prefix}console (id, seq, at, attempt, line) values (98, 1, 1, 1, '')", "job 98: console of no job"},
		{"insert into {prefix}history (id, seq, at, attempt, state, reason, server, actor, error, trace) select 1, i, 1, 1, '', '', '', '', '', '' from generate_series(1, 1000) i", "job 1: history of 1000 entries"},
		{"insert into {prefix}stats (minute, server, succeeded, failed, deleted, retried) values (1, '', 1, 0, 0, 0)", "totals below the statistics"},
		{"update {prefix}uniques set id = 2", "job 2: a unique key that it does not hold any more"},
		{"delete from {prefix}uniques", "job 1: a live job without its unique key"},
		{"update {prefix}limits set active = 0, max = 0", "limit limit counts 0 active"},
		{"delete from {prefix}limits", "job 2: a limit key without a rule"},
		{"update {prefix}ready set flags = flags | 256 where id = 1", "job 1: a reserved start where there can be none"},
		{"update {prefix}limits set max = 5", "job 3: a throttled job under a key with room"},
		{"update {prefix}awaiting set pending = 2", "job 6: waits for another number of things than it counts"},
		{"delete from {prefix}ready where id = 5; delete from {prefix}jobs where id = 5", "job 6: waits for job 5, which has ended or is gone"},
		{"update {prefix}ready set flags = flags & ~8 where id = 5", "job 5: flags that do not fit dependencies and batches"},
		{"update {prefix}ready set flags = flags & ~16 where id = 5", "job 5: flags that do not fit dependencies and batches"},
		{"update {prefix}batches set live = 0", "job 1: batch whose counts are not those of its members"},
		{"update {prefix}batches set sealed = true, live = 0", "job 1: batch that is sealed and done and has not finished"},
		{"update {prefix}batches set nested = 1", "job 1: batch whose nested ones are not as it counts"},
		{"delete from {prefix}batches", "job 5: member of batch 1, which is gone"},
	} {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(ctx, "begin"); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(ctx, strings.ReplaceAll(c.spoil, storekit.PrefixMark, quoted(s.schema)), pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%v in %s", err, c.spoil)
		}
		r := &reader{runner: runner{ctx, pgxQuerier{conn}, s.texts}}
		if err := r.check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("after %q Check finds %v, want %q", c.spoil, err, c.want)
		}
		rollback(conn)
		conn.Release()
	}
	if err := s.Check(ctx); err != nil {
		t.Error(err)
	}
}
