package pgstore

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kilnjobs/kiln/storekit"
)

// The rows of the tables that plans are looked at on: a million jobs are ready, scheduled and done each, in three queues of unequal
// sizes, and some of each of the rarer kinds.
const fillForPlans = `
insert into {prefix}jobs (id, created_at, timeout, max_attempts, flags, priority, queue, kind, args)
select i, 1000000::bigint * i, 0, 25, 0, 0, case when i % 100 = 0 then 'rare' when i % 3 = 0 then 'mail' else 'default' end, 'kind' || i % 10, '{}'
from generate_series(1, 3000000) i;
insert into {prefix}jobs (id, created_at, timeout, max_attempts, flags, priority, queue, kind, batch_id, after_batch, limit_key, unique_key, recurring_id, deadline, tags, args)
select i, 1000000::bigint * i, 0, 25, case when i <= 3100000 then 2 when i <= 3200000 then 4 else 0 end, 0, 'queue' || i % 7, 'kind' || i % 10,
    case when i > 3200000 then 1 + i % 1000 end, case when i > 3100000 and i <= 3200000 and i % 10 = 0 then 1 + i % 1000 end,
    case when i <= 3100000 then 'key' || i % 10000 end, case when i > 3200000 then decode(lpad(to_hex(i), 16, '0'), 'hex') end,
    case when i > 3200000 then 'every' || i % 100 end, case when i % 10 = 0 then 1000000::bigint * i end, '["tag"]', '{}'
from generate_series(3000001, 3300000) i;
insert into {prefix}ready (id, run_at, flags, claim, attempt, rank, queue, kind)
select id, created_at, flags, 0, 0, 0, queue, kind from {prefix}jobs where id <= 1000000;
insert into {prefix}done (id, run_at, attempted_at, finished_at, flags, claim, attempt, state, server)
select i, i, 1000000::bigint * i, 1000000::bigint * i + i % 1000, 0, 1, 1, 1 + (i % 20 = 0)::int, 'server' from generate_series(1000001, 2000000) i;
insert into {prefix}scheduled (id, run_at, flags, claim, attempt, rank, queue, kind)
select id, 1000000::bigint * (id % 100000), flags, (id % 50 = 0)::int, (id % 50 = 0)::int, 0, queue, kind from {prefix}jobs where id > 2000000 and id <= 3000000;
insert into {prefix}throttled (id, run_at, flags, claim, attempt, rank, limit_key, queue, kind)
select id, created_at, flags, 0, 0, 0, limit_key, queue, kind from {prefix}jobs where id > 3000000 and id <= 3100000;
insert into {prefix}awaiting (id, run_at, flags, pending, rank, queue, kind)
select id, created_at, flags, 1, 0, queue, kind from {prefix}jobs where id > 3100000 and id <= 3200000;
insert into {prefix}failed (id, run_at, attempted_at, finished_at, flags, claim, attempt, queue, kind, server)
select id, created_at, created_at, created_at + 1, flags, 25, 25, queue, kind, 'server' from {prefix}jobs where id > 3200000 and id <= 3299000;
insert into {prefix}lease (id, run_at, attempted_at, flags, claim, attempt, server)
select id, created_at, created_at, flags, 1, 1, 'server' || id % 4 from {prefix}jobs where id > 3299000;
insert into {prefix}deadlines (deadline, id) select deadline, id from {prefix}jobs where deadline is not null and id <= 3200000;
insert into {prefix}deps (parent, child, mask, open) select i - 3000000, i, 1, true from generate_series(3100001, 3200000) i;
insert into {prefix}metas (id, meta) select i, '{"a":"b"}' from generate_series(1000001, 1100000) i;
insert into {prefix}outputs (id, output) select i, '1' from generate_series(1000001, 1100000) i;
insert into {prefix}progress (id, last_seq, progress) select i, 3, 50 from generate_series(1000001, 1100000) i;
insert into {prefix}console (id, seq, at, attempt, line) select 1000000 + i / 3, i % 3, i, 1, 'line' from generate_series(3, 300000) i;
insert into {prefix}history (id, at, seq, attempt, state, reason, server, actor, error, trace)
select 3200001 + i / 4, i, i % 4, 1, 'scheduled', 'retry', 'server', '', 'error', '' from generate_series(0, 395999) i;
insert into {prefix}uniques (unique_key, id, expires_at)
select unique_key, id, case when id % 2 = 0 then 1000000::bigint * id else 0 end from {prefix}jobs where unique_key is not null;
insert into {prefix}limits (tat, admit_tat, per, max, rate, burst, active, reserved, marked, unused, limit_key)
select i, i, 0, 1, 0, 0, 1, 0, i % 1000 = 0, i % 100 = 1, 'key' || i from generate_series(0, 9999) i;
insert into {prefix}batches (id, parent, created_at, total, members, live, active, sealed, finished_at, meta, description)
select i, case when i % 10 = 0 then 1 else 0 end, i, 100, case when i <= 1000 then 100 else 0 end, case when i <= 1000 then 100 else 0 end,
    case when i <= 1000 then 100 else 0 end, true, case when i <= 1000 then 0 else i end, '', '' from generate_series(1, 20000) i;
insert into {prefix}recurring (next_run_at, last_run_at, last_job_id, created_at, updated_at, version, misfire, overlap, paused, id, grp, spec, location, template)
select 1000000::bigint * i, 0, 0, i, i, 1, 0, true, i % 2 = 0, 'every' || i, '', '@daily', 'UTC', '{}' from generate_series(1, 10000) i;
insert into {prefix}stats (minute, succeeded, failed, deleted, retried, server) select i / 4, 1, 1, 1, 1, 'server' || i % 4 from generate_series(0, 99999) i;
insert into {prefix}endings (job, batch, settled, until, state) select i, 0, 0, i, 'failed' from generate_series(3200001, 3210000) i;
insert into {prefix}servers (started_at, heartbeat_at, pid, workers, running, id, host, version, queues, kinds)
select i, i, i, 1, 1, 'server' || i, '', '', '["default"]', '' from generate_series(0, 3) i;
select setval('{prefix}job_ids', 3300000)`

// fillPlans fills an installation for the plan tests. Its tables are not logged, which changes no plan and halves the time.
func fillPlans(t *testing.T, pool *pgxpool.Pool, s *Store) {
	t.Helper()
	ctx := context.Background()
	conn, err := pool.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	run := func(text string) {
		t.Helper()
		if _, err := conn.Conn().PgConn().Exec(ctx, strings.ReplaceAll(text, storekit.PrefixMark, quoted(s.schema))).ReadAll(); err != nil {
			t.Fatalf("%v in %.200s", err, text)
		}
	}
	for _, table := range []string{"jobs", "ready", "done", "scheduled", "throttled", "awaiting", "failed", "deps", "console", "history"} {
		run("alter table {prefix}" + table + " set unlogged, set (autovacuum_enabled = off)")
	}
	run("set synchronous_commit = off")
	for text := range strings.SplitSeq(fillForPlans, ";\n") {
		run(text)
	}
	for _, table := range []string{
		"jobs", "ready", "done", "scheduled", "throttled", "awaiting", "failed", "lease", "deadlines", "deps", "metas", "outputs", "progress", "console",
		"history", "uniques", "limits", "batches", "recurring", "stats", "endings", "servers",
	} {
		run("vacuum analyze {prefix}" + table)
	}
}
