package pgstore

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// manyJobs fills an installation with what a large one holds: a million done jobs, 100,000 ready ones in 20 queues of 5 kinds, 10,000 failed
// ones of 40 kinds, 10,000 limit keys that hold 5 jobs back each, and 1,000 recurring jobs whose last jobs are among the failed ones.
const manyJobs = `
insert into {prefix}done (id, run_at, attempted_at, finished_at, flags, claim, attempt, state, server)
select i, {now} - 8000000000, {now} - 8000000000, {now} - 8000000000 + i, 0, 1, 1, 1 + (i % 20 = 0)::int, 'server' from generate_series(1, 1000000) i;
insert into {prefix}jobs (id, created_at, timeout, max_attempts, flags, priority, queue, kind, limit_key, recurring_id, args)
select i, {now} - 7200000000, 0, 25, 0, i % 2, 'queue' || (i % 20), 'kind' || (i % 5), case when i > 1110000 then 'key' || (i % 10000) end,
    case when i > 1109000 and i <= 1110000 then 'every' || (i % 1000) end, '{}' from generate_series(1000001, 1160000) i;
insert into {prefix}jobs (id, created_at, timeout, max_attempts, flags, priority, queue, kind, args)
select i, {now} - 7200000000, 0, 25, 0, 0, 'queue', 'kind', '{}' from generate_series(1, 1000000) i;
insert into {prefix}ready (id, run_at, flags, claim, attempt, rank, queue, kind)
select id, {now} - 3600000000 + id, 0, 0, 0, -priority, queue, kind from {prefix}jobs where id > 1000000 and id <= 1100000;
insert into {prefix}failed (id, run_at, attempted_at, finished_at, flags, claim, attempt, queue, kind, server)
select id, created_at, created_at, {now} - (1110000 - id) * 1000000, 0, 25, 25, queue, 'kind' || (id % 40), 'server' from {prefix}jobs
where id > 1100000 and id <= 1110000;
insert into {prefix}history (id, seq, at, state, attempt, reason, server, actor, error, trace)
select id, 16, finished_at, 'failed', 25, 'exhausted', 'server', '', 'connect: connection refused', '' from {prefix}failed;
insert into {prefix}throttled (id, run_at, flags, claim, attempt, rank, limit_key, queue, kind)
select id, {now} - 3600000000 + id, 2, 0, 0, -priority, limit_key, queue, kind from {prefix}jobs where id > 1110000;
insert into {prefix}limits (tat, admit_tat, per, max, rate, burst, active, reserved, marked, unused, limit_key)
select {now} * 1000, {now} * 1000, 60000000000, 1, 1, 1, 1, 0, false, false, 'key' || i from generate_series(0, 9999) i;
insert into {prefix}recurring (next_run_at, last_run_at, last_job_id, created_at, updated_at, version, misfire, overlap, paused, id, grp, spec, location, template)
select {now} + 3600000000, 0, 1109000 + i, 1, 1, 1, 0, true, false, 'every' || i, '', '@daily', 'UTC', '{}' from generate_series(0, 999) i;
vacuum analyze {prefix}ready;
vacuum analyze {prefix}throttled;
vacuum analyze {prefix}failed`

// BenchmarkReaders measures what people look at first, on a large installation.
func BenchmarkReaders(b *testing.B) {
	ctx := context.Background()
	pool := newPool(b)
	s := openStore(b, pool, newSchema(b))
	now, err := s.Now(ctx)
	if err != nil {
		b.Fatal(err)
	}
	for text := range strings.SplitSeq(manyJobs, ";\n") {
		text = strings.NewReplacer("{prefix}", quoted(s.schema), "{now}", fmt.Sprint(storekit.Micros(now))).Replace(text)
		if _, err := pool.Exec(ctx, text); err != nil {
			b.Fatalf("%v in %s", err, text)
		}
	}
	for i := range 5 {
		if _, err := s.Heartbeat(ctx, driver.ServerInfo{ID: fmt.Sprint(i), Queues: []string{fmt.Sprint("queue", i)}, Kinds: []string{"kind1"}}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("Problems", func(b *testing.B) {
		for b.Loop() {
			if p, err := s.Problems(ctx, 0); err != nil || len(p.Oldest) != 20 || len(p.Held) != 20 || len(p.Failures) != 20 || len(p.Recurring) != 20 {
				b.Fatalf("%+v, %v", p, err)
			}
		}
	})
	for state, id := range map[driver.State]int64{driver.Enqueued: 1_100_000, driver.Throttled: 1_160_000, driver.Failed: 1_110_000, driver.Succeeded: 1} {
		b.Run("Explain/"+string(state), func(b *testing.B) {
			for b.Loop() {
				if x, err := s.Explain(ctx, id); err != nil || x.State != state {
					b.Fatalf("%+v, %v", x, err)
				}
			}
		})
	}
}
