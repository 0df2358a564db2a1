package sqlitestore

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
with recursive n (i) as (select 1 union all select i + 1 from n where i < 1000000)
insert into {prefix}done (id, state, flags, claim, attempt, run_at, attempted_at, server, finished_at)
select i, 1 + (i % 20 = 0), 0, 1, 1, {now} - 8000000000, {now} - 8000000000, 'server', {now} - 8000000000 + i from n;
with recursive n (i) as (select 1 union all select i + 1 from n where i < 1160000)
insert into {prefix}jobs (id, queue, kind, priority, max_attempts, timeout, flags, created_at, limit_key, recurring_id, args)
select i, 'queue' || (i % 20), 'kind' || (i % 5), i % 2, 25, 0, 0, {now} - 7200000000,
    case when i > 1110000 then 'key' || (i % 10000) else '' end, case when i > 1109000 and i <= 1110000 then 'every' || (i % 1000) else '' end, cast('{}' as blob) from n;
insert into {prefix}ready (queue, kind, rank, id, flags, claim, attempt, run_at, attempted_at, server)
select queue, kind, -priority, id, 0, 0, 0, {now} - 3600000000 + id, 0, '' from {prefix}jobs where id > 1000000 and id <= 1100000;
insert into {prefix}failed (id, queue, kind, flags, claim, attempt, run_at, attempted_at, server, finished_at)
select id, queue, 'kind' || (id % 40), 0, 25, 25, created_at, created_at, 'server', {now} - (1110000 - id) * 1000000 from {prefix}jobs
where id > 1100000 and id <= 1110000;
insert into {prefix}history (id, seq, at, state, attempt, reason, server, actor, error, trace)
select id, 16, finished_at, 'failed', 25, 'exhausted', 'server', '', 'connect: connection refused', '' from {prefix}failed;
insert into {prefix}throttled (id, limit_key, queue, kind, rank, flags, claim, attempt, run_at, attempted_at, server)
select id, limit_key, queue, kind, -priority, 2, 0, 0, {now} - 3600000000 + id, 0, '' from {prefix}jobs where id > 1110000;
with recursive n (i) as (select 0 union all select i + 1 from n where i < 9999)
insert into {prefix}limits (limit_key, max, rate, per, burst, active, reserved, tat, admit_tat, marked, unused)
select 'key' || i, 1, 1, 60000000000, 1, 1, 0, {now} * 1000, {now} * 1000, 0, 0 from n;
with recursive n (i) as (select 0 union all select i + 1 from n where i < 999)
insert into {prefix}recurring (id, grp, spec, location, template, misfire, overlap, paused, next_run_at, last_run_at, last_job_id, created_at, updated_at, version)
select 'every' || i, '', '@daily', 'UTC', '{}', 0, 1, 0, {now} + 3600000000, 0, 1109000 + i, 1, 1, 1 from n`

// BenchmarkReaders measures what people look at first, on a large installation.
func BenchmarkReaders(b *testing.B) {
	ctx := context.Background()
	db := newPool(b)
	s := newStore(b, db)
	now, err := s.Now(ctx)
	if err != nil {
		b.Fatal(err)
	}
	for text := range strings.SplitSeq(manyJobs, ";\n") {
		text = strings.NewReplacer("{prefix}", "kiln_", "{now}", fmt.Sprint(storekit.Micros(now))).Replace(text)
		if _, err := db.Exec(text); err != nil {
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
