-- name: job_record
select j.id, j.queue, j.kind, j.priority, j.max_attempts, j.timeout, j.created_at, j.batch_id, j.after_batch, j.limit_key,
    j.recurring_id, j.parents, j.title, j.tags, coalesce(m.meta, j.meta), j.args, coalesce(p.progress, 0),
    coalesce(r.claim, l.claim, s.claim, t.claim, f.claim, d.claim, 0),
    coalesce(r.attempt, l.attempt, s.attempt, t.attempt, f.attempt, d.attempt, 0),
    coalesce(r.run_at, l.run_at, s.run_at, t.run_at, a.run_at, f.run_at, d.run_at, 0),
    coalesce(r.attempted_at, l.attempted_at, s.attempted_at, t.attempted_at, f.attempted_at, d.attempted_at, 0),
    coalesce(r.server, l.server, s.server, t.server, f.server, d.server, ''),
    coalesce(f.finished_at, d.finished_at, 0), coalesce(l.cancel, 0), coalesce(a.pending, 0),
    case when r.id is not null then 'enqueued' when l.id is not null then 'processing'
        when s.id is not null then 'scheduled' when t.id is not null then 'throttled'
        when a.id is not null then 'awaiting' when f.id is not null then 'failed'
        when d.state = 1 then 'succeeded' when d.state = 2 then 'deleted' else '' end
from {prefix}jobs j
left join {prefix}ready r on r.queue = j.queue and r.kind = j.kind and r.rank = -j.priority and r.id = j.id
left join {prefix}lease l on l.id = j.id
left join {prefix}scheduled s on s.id = j.id
left join {prefix}throttled t on t.id = j.id
left join {prefix}awaiting a on a.id = j.id
left join {prefix}failed f on f.id = j.id
left join {prefix}done d on d.id = j.id
left join {prefix}metas m on m.id = j.id
left join {prefix}progress p on p.id = j.id
where j.id = ?;

-- name: job_history
select at, state, attempt, reason, error, trace, server, actor from {prefix}history where id = ? order by seq;

-- name: job_output
select output from {prefix}outputs where id = ?;

-- name: job_children
select child from {prefix}deps where parent = ? order by child;

-- name: counts
-- One statement, so one snapshot. Counting stops at the cap.
select (select count(*) from (select 1 from {prefix}awaiting limit ?1)),
    (select count(*) from (select 1 from {prefix}scheduled limit ?1)),
    (select count(*) from (select 1 from {prefix}throttled limit ?1)),
    (select count(*) from (select 1 from {prefix}ready limit ?1)),
    (select count(*) from (select 1 from {prefix}lease limit ?1)),
    (select count(*) from (select 1 from {prefix}failed limit ?1)),
    (select count(*) from (select 1 from {prefix}scheduled where attempt > 0 limit ?1)),
    succeeded, deleted
from {prefix}totals where id = 1;

-- name: series
select minute, sum(succeeded), sum(failed), sum(deleted), sum(retried)
from {prefix}stats where minute >= ? and minute < ? group by minute order by minute;

-- name: queue_names
-- Every queue with a live job, a pause or a server. Tables that grow are skipped through, one seek per queue.
with recursive
ready (name) as (
    select (select queue from {prefix}ready where queue >= '' order by queue limit 1)
    union all select (select queue from {prefix}ready where queue > name order by queue limit 1) from ready where name is not null
),
scheduled (name) as (
    select (select queue from {prefix}scheduled where queue >= '' order by queue limit 1)
    union all select (select queue from {prefix}scheduled where queue > name order by queue limit 1) from scheduled where name is not null
),
throttled (name) as (
    select (select queue from {prefix}throttled where queue >= '' order by queue limit 1)
    union all select (select queue from {prefix}throttled where queue > name order by queue limit 1) from throttled where name is not null
),
awaiting (name) as (
    select (select queue from {prefix}awaiting where queue >= '' order by queue limit 1)
    union all select (select queue from {prefix}awaiting where queue > name order by queue limit 1) from awaiting where name is not null
),
failed (name) as (
    select (select queue from {prefix}failed where queue >= '' order by queue limit 1)
    union all select (select queue from {prefix}failed where queue > name order by queue limit 1) from failed where name is not null
)
select name from ready where name is not null
union select name from scheduled where name is not null
union select name from throttled where name is not null
union select name from awaiting where name is not null
union select name from failed where name is not null
union select queue from {prefix}lease
union select name from {prefix}queues
union select value from {prefix}servers cross join json_each(nullif(queues, ''));

-- name: queue_counts
select n.value, coalesce((select paused_at from {prefix}queues where name = n.value), 0),
    (select count(*) from (select 1 from {prefix}ready where queue = n.value limit ?2)),
    (select count(*) from (select 1 from {prefix}scheduled where queue = n.value limit ?2)),
    (select count(*) from (select 1 from {prefix}throttled where queue = n.value limit ?2))
from json_each(?1) n;

-- name: queue_processing
select queue, count(*) from {prefix}lease group by queue;

-- name: queue_oldest
-- The earliest run time among the first jobs of each queue, kind and priority, ten thousand in all and ten of each at least. Jobs stand
-- there by id, so the one that waits longest is among them, unless that many older ids came back to the queue later than it.
with recursive
lane (queue, kind, rank) as (
    select j.queue, j.kind, -j.priority from {prefix}jobs j
    where j.id = (select id from {prefix}ready where queue >= '' order by queue, kind, rank, id limit 1)
    union all
    select j.queue, j.kind, -j.priority from lane cross join {prefix}jobs j
    on j.id = coalesce(
        (select r.id from {prefix}ready r where r.queue = lane.queue and r.kind = lane.kind and r.rank > lane.rank order by r.rank, r.id limit 1),
        (select r.id from {prefix}ready r where r.queue = lane.queue and r.kind > lane.kind order by r.kind, r.rank, r.id limit 1),
        (select r.id from {prefix}ready r where r.queue > lane.queue order by r.queue, r.kind, r.rank, r.id limit 1))
)
select queue, min((select min(run_at) from (
    select r.run_at from {prefix}ready r
    where r.queue = lane.queue and r.kind = lane.kind and r.rank = lane.rank order by r.id
    limit (select min(max(10000 / count(*), 10), 1000) from lane))))
from lane group by queue;

-- name: outputs
select o.id, o.output from json_each(?1) e cross join {prefix}done d on d.id = e.value cross join {prefix}outputs o on o.id = d.id
where d.state = ?2;

-- name: job_runs
select attempt, started_at, at from {prefix}history where id = ? and started_at > 0 order by seq;

-- name: last_errors
select e.id, h.error from (select distinct value as id from json_each(?1)) e cross join {prefix}history h
    on h.id = e.id and h.seq = (select max(n.seq) from {prefix}history n where n.id = e.id and n.error <> '');

-- name: page_batch
-- How many jobs a batch has, up to a number.
select count(*) from (select 1 from {prefix}jobs where batch_id = ?1 and batch_id > 0 limit ?2);

-- name: states
select j.id, coalesce((select case d.state when 1 then 'succeeded' else 'deleted' end from {prefix}done d where d.id = j.id), case
    when exists (select 1 from {prefix}ready r where r.queue = j.queue and r.kind = j.kind and r.rank = -j.priority and r.id = j.id) then 'enqueued'
    when exists (select 1 from {prefix}lease s where s.id = j.id) then 'processing'
    when exists (select 1 from {prefix}scheduled s where s.id = j.id) then 'scheduled'
    when exists (select 1 from {prefix}throttled s where s.id = j.id) then 'throttled'
    when exists (select 1 from {prefix}awaiting s where s.id = j.id) then 'awaiting'
    when exists (select 1 from {prefix}failed s where s.id = j.id) then 'failed'
    else '' end)
from json_each(?1) e cross join {prefix}jobs j on j.id = e.value;
