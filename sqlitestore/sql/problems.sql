-- What needs a person. Every statement reads an index, and no more of it than a number of rows that it is given: queues, kinds and keys are
-- skipped through, one seek each. With 100,000 ready jobs, a million that are done, 10,000 failed ones and 10,000 limit keys that
-- hold jobs back the statements take 9 ms at best (BenchmarkReaders); all of it as one call took 20 ms on a store of the same size with
-- 18,000 jobs held back (bench -pages).

-- name: problems_lanes
with recursive lane (queue, kind, rank) as (
    select j.queue, j.kind, -j.priority from {prefix}jobs j
    where j.id = (select id from {prefix}ready where queue >= '' order by queue, kind, rank, id limit 1)
    union all
    select j.queue, j.kind, -j.priority from lane cross join {prefix}jobs j
    on j.id = coalesce(
        (select r.id from {prefix}ready r where r.queue = lane.queue and r.kind = lane.kind and r.rank > lane.rank order by r.rank, r.id limit 1),
        (select r.id from {prefix}ready r where r.queue = lane.queue and r.kind > lane.kind order by r.kind, r.rank, r.id limit 1),
        (select r.id from {prefix}ready r where r.queue > lane.queue order by r.queue, r.kind, r.rank, r.id limit 1))
    limit ?1
)
select queue, kind, rank from lane;

-- name: problems_ready
-- Of each lane: how many of its first jobs there are, and since when which of them has been due for longest.
select l.key, (
    select json_array(count(*), min(f.run_at), f.id) from (
        select r.run_at, r.id from {prefix}ready r
        where r.queue = l.value ->> 0 and r.kind = l.value ->> 1 and r.rank = l.value ->> 2 order by r.id limit ?2) f)
from json_each(?1) l;

-- name: problems_counts
select e.value, (select count(*) from (select 1 from {prefix}ready r where r.queue = e.value limit ?2)) from json_each(?1) e;

-- name: problems_paused
select name, paused_at from {prefix}queues;

-- name: problems_keys
with recursive k (name) as (
    select (select limit_key from {prefix}throttled where limit_key >= '' order by limit_key limit 1)
    union all
    select (select t.limit_key from {prefix}throttled t where t.limit_key > k.name order by t.limit_key limit 1) from k where k.name is not null
    limit ?1
)
select name from k where name is not null;

-- name: problems_waiting
select e.value, (select count(*) from (select 1 from {prefix}throttled t where t.limit_key = e.value limit ?2)) from json_each(?1) e;

-- name: problems_held
-- Keys with their rules, and since when one of the first jobs waits.
select e.key, l.max, l.rate, l.per, l.burst, l.active, l.reserved, l.tat, (
    select min(f.run_at) from (select t.run_at from {prefix}throttled t where t.limit_key = l.limit_key order by t.rank, t.id limit ?2) f)
from json_each(?1) e cross join {prefix}limits l on l.limit_key = e.value;

-- name: problems_kinds
-- The kinds with failed jobs, each with its newest.
with recursive k (name) as (
    select (select kind from {prefix}failed where kind >= '' order by kind limit 1)
    union all select (select f.kind from {prefix}failed f where f.kind > k.name order by f.kind limit 1) from k where k.name is not null
    limit ?1
)
select n.kind, n.finished_at, n.id from k cross join {prefix}failed n
on n.id = (select f.id from {prefix}failed f where f.kind = k.name order by f.finished_at desc, f.id desc limit 1);

-- name: problems_failures
-- How many failed jobs of each kind there are: in all, in the last hour, and in the one before it; when the first of them failed, and with
-- what the newest did.
select e.key, (select count(*) from (select 1 from {prefix}failed f where f.kind = e.value ->> 0 limit ?4)),
    (select count(*) from (select 1 from {prefix}failed f where f.kind = e.value ->> 0 and f.finished_at > ?2 limit ?4)),
    (select count(*) from (select 1 from {prefix}failed f where f.kind = e.value ->> 0 and f.finished_at > ?3 and f.finished_at <= ?2 limit ?4)),
    (select f.finished_at from {prefix}failed f where f.kind = e.value ->> 0 order by f.finished_at, f.id limit 1),
    coalesce((select case h.state when 'failed' then h.error end from {prefix}history h where h.id = e.value ->> 1 order by h.seq desc limit 1), '')
from json_each(?1) e;

-- name: problems_late
select r.id, r.paused, r.next_run_at, r.last_job_id, coalesce((select f.finished_at from {prefix}failed f where f.id = r.last_job_id), 0)
from {prefix}recurring r where r.paused = 0 and r.next_run_at > 0 and r.next_run_at < ?1 order by r.next_run_at, r.id limit ?2;

-- name: problems_failed_runs
-- Of the first recurring jobs those whose last job failed.
select r.id, r.paused, r.next_run_at, r.last_job_id, f.finished_at
from (select id, paused, next_run_at, last_job_id from {prefix}recurring order by id limit ?1) r
cross join {prefix}failed f on f.id = r.last_job_id order by f.finished_at desc, r.id limit ?2;
