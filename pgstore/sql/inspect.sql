-- name: job_record
select j.id, j.queue, j.kind, j.priority, j.max_attempts, j.timeout, j.created_at, coalesce(j.batch_id, 0), coalesce(j.after_batch, 0),
    coalesce(j.limit_key, ''), coalesce(j.recurring_id, ''), j.parents, coalesce(j.title, ''), coalesce(j.tags, ''),
    coalesce((select m.meta from {prefix}metas m where m.id = j.id), j.meta, ''), j.args,
    coalesce((select p.progress from {prefix}progress p where p.id = j.id), 0),
    coalesce(s.claim, 0), coalesce(s.attempt, 0), coalesce(s.run_at, 0), coalesce(s.attempted_at, 0), coalesce(s.server, ''),
    coalesce(s.finished_at, 0), coalesce(s.cancel, false), coalesce(s.pending, 0), coalesce(s.state, '')
from {prefix}jobs j
left join lateral (
    select 'enqueued' as state, claim, attempt, run_at, attempted_at, server, null::bigint as finished_at, false as cancel, 0 as pending
    from {prefix}ready r where r.queue = j.queue and r.rank = -j.priority::integer and r.id = j.id
    union all
    select 'processing', claim, attempt, run_at, attempted_at, server, null, cancel, 0 from {prefix}lease l where l.id = j.id
    union all
    select 'scheduled', claim, attempt, run_at, attempted_at, server, null, false, 0 from {prefix}scheduled s where s.id = j.id
    union all
    select 'throttled', claim, attempt, run_at, attempted_at, server, null, false, 0 from {prefix}throttled t where t.id = j.id
    union all
    select 'awaiting', 0, 0, run_at, null, null, null, false, pending from {prefix}awaiting a where a.id = j.id
    union all
    select 'failed', claim, attempt, run_at, attempted_at, server, finished_at, false, 0 from {prefix}failed f where f.id = j.id
    union all
    select case state when 1 then 'succeeded' else 'deleted' end, claim, attempt, run_at, attempted_at, server, finished_at, false, 0
    from {prefix}done d where d.id = j.id
    offset 0
) s on true
where j.id = $1::bigint;

-- name: job_history
select at, state, attempt, reason, error, trace, server, actor from {prefix}history where id = $1::bigint order by seq;

-- name: job_output
select output from {prefix}outputs where id = $1::bigint;

-- name: job_children
select child from (select child from {prefix}deps where parent = $1::bigint offset 0) d order by child;

-- name: counts
-- One statement, so one snapshot. Counting stops at the cap. What has ended is known by the totals, which statistics that are not folded
-- yet add to.
select (select count(*) from (select 1 from {prefix}awaiting limit $1::bigint) x),
    (select count(*) from (select 1 from {prefix}scheduled limit $1::bigint) x),
    (select count(*) from (select 1 from {prefix}throttled limit $1::bigint) x),
    (select count(*) from (select 1 from {prefix}ready limit $1::bigint) x),
    (select count(*) from (select 1 from {prefix}lease limit $1::bigint) x),
    (select count(*) from (select 1 from {prefix}failed limit $1::bigint) x),
    (select count(*) from (select 1 from {prefix}scheduled where attempt > 0 limit $1::bigint) x),
    t.succeeded + c.succeeded, t.deleted + c.deleted
from {prefix}totals t
cross join (select coalesce(sum(succeeded), 0)::bigint as succeeded, coalesce(sum(deleted), 0)::bigint as deleted from {prefix}counts) c
where t.id = 1;

-- name: series
select minute, sum(succeeded)::bigint, sum(failed)::bigint, sum(deleted)::bigint, sum(retried)::bigint from (
    select minute, succeeded, failed, deleted, retried from {prefix}stats where minute >= $1::bigint and minute < $2::bigint
    union all
    select minute, succeeded, failed, deleted, retried from {prefix}counts where minute >= $1::bigint and minute < $2::bigint
) s group by minute order by minute;

-- name: ready_queues
-- The queues with ready jobs, one seek each.
with recursive q (name) as (
    (select queue from {prefix}ready order by queue limit 1)
    union all select (select r.queue from {prefix}ready r where r.queue > q.name order by r.queue limit 1) from q where q.name is not null
)
select name from q where name is not null;

-- name: queue_names
-- Every queue with a live job or a pause. Tables that grow are skipped through, one seek per queue.
with recursive
enqueued (name) as (
    (select queue from {prefix}ready order by queue limit 1)
    union all select (select x.queue from {prefix}ready x where x.queue > e.name order by x.queue limit 1) from enqueued e where e.name is not null
),
waiting (name) as (
    (select queue from {prefix}scheduled order by queue limit 1)
    union all select (select x.queue from {prefix}scheduled x where x.queue > e.name order by x.queue limit 1) from waiting e where e.name is not null
),
limited (name) as (
    (select queue from {prefix}throttled order by queue limit 1)
    union all select (select x.queue from {prefix}throttled x where x.queue > e.name order by x.queue limit 1) from limited e where e.name is not null
),
depending (name) as (
    (select queue from {prefix}awaiting order by queue limit 1)
    union all select (select x.queue from {prefix}awaiting x where x.queue > e.name order by x.queue limit 1) from depending e where e.name is not null
),
broken (name) as (
    (select queue from {prefix}failed order by queue limit 1)
    union all select (select x.queue from {prefix}failed x where x.queue > e.name order by x.queue limit 1) from broken e where e.name is not null
)
select name from enqueued where name is not null
union select name from waiting where name is not null
union select name from limited where name is not null
union select name from depending where name is not null
union select name from broken where name is not null
union select j.queue collate "C" from {prefix}lease l cross join lateral (select queue from {prefix}jobs j where j.id = l.id offset 0) j
union select name from {prefix}queues;

-- name: server_queues
select queues from {prefix}servers where queues <> '';

-- name: queue_counts
select n.name, coalesce((select p.paused_at from {prefix}queues p where p.name = n.name), 0),
    (select count(*) from (select 1 from {prefix}ready x where x.queue = n.name limit $2::bigint) x),
    (select count(*) from (select 1 from {prefix}scheduled x where x.queue = n.name limit $2::bigint) x),
    (select count(*) from (select 1 from {prefix}throttled x where x.queue = n.name limit $2::bigint) x)
from unnest($1::text[]) n (name);

-- name: queue_processing
select j.queue, count(*) from {prefix}lease l cross join lateral (select queue from {prefix}jobs j where j.id = l.id offset 0) j group by j.queue;

-- name: queue_oldest
-- The earliest run time among the first jobs of each queue and priority, ten thousand in all and ten of each at least. Jobs stand there
-- by id, so the one that waits longest is among them, unless that many older ids came back to the queue later than it.
with recursive lane (queue, rank) as (
    (select queue, rank from {prefix}ready order by queue, rank limit 1)
    union all
    select n.queue, n.rank from lane cross join lateral (
        select r.queue, r.rank from {prefix}ready r where (r.queue, r.rank) > (lane.queue, lane.rank) order by r.queue, r.rank limit 1
    ) n
)
select lane.queue, min(h.oldest) from lane cross join lateral (
    select min(run_at) as oldest from (
        select r.run_at from {prefix}ready r where r.queue = lane.queue and r.rank = lane.rank order by r.id
        limit (select least(greatest(10000 / count(*), 10), 1000) from lane)
    ) f
) h where h.oldest is not null group by lane.queue;

-- name: outputs
select o.id, o.output from unnest($1::bigint[]) e (id)
cross join lateral (select id from {prefix}done d where d.id = e.id and d.state = $2::smallint offset 0) d
cross join lateral (select id, output from {prefix}outputs o where o.id = d.id offset 0) o;

-- name: job_runs
select attempt, started_at, at from {prefix}history where id = $1::bigint and started_at > 0 order by seq;

-- name: last_errors
select e.id, h.error from unnest($1::bigint[]) e (id) cross join lateral (
    select h.error from {prefix}history h where h.id = e.id and h.error <> '' order by h.seq desc limit 1
) h;

-- name: page_batch
-- How many jobs a batch has, up to a number.
select count(*) from (select 1 from {prefix}jobs where batch_id = $1::bigint and batch_id > 0 limit $2::bigint) j;

-- name: states
select j.id, s.state from unnest($1::bigint[]) e (id)
cross join lateral (select id, queue, priority from {prefix}jobs j where j.id = e.id offset 0) j
cross join lateral (
    select 'enqueued' as state from {prefix}ready r where r.queue = j.queue and r.rank = -j.priority::integer and r.id = j.id
    union all
    select 'processing' from {prefix}lease s where s.id = j.id
    union all
    select 'scheduled' from {prefix}scheduled s where s.id = j.id
    union all
    select 'throttled' from {prefix}throttled s where s.id = j.id
    union all
    select 'awaiting' from {prefix}awaiting s where s.id = j.id
    union all
    select 'failed' from {prefix}failed s where s.id = j.id
    union all
    select case state when 1 then 'succeeded' else 'deleted' end from {prefix}done d where d.id = j.id
) s;
