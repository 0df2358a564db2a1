-- What needs a person. Every statement reads an index, and no more of it than a number of rows that it is given: queues, kinds and keys are
-- skipped through, one seek each. With 100,000 ready jobs, a million that are done, 10,000 failed ones and 10,000 limit keys that
-- hold jobs back the statements take 13 ms at best (BenchmarkReaders); all of it as one call took 62 ms on a store of the same size
-- with 18,000 jobs held back (bench -pages).

-- name: problems_lanes
with recursive lane (queue, rank, n) as (
    (select queue, rank, 1 from {prefix}ready order by queue, rank limit 1)
    union all
    select x.queue, x.rank, lane.n + 1 from lane cross join lateral (
        select r.queue, r.rank from {prefix}ready r where (r.queue, r.rank) > (lane.queue, lane.rank) order by r.queue, r.rank limit 1
    ) x where lane.n < $1::bigint
)
select queue, rank from lane;

-- name: problems_ready
-- Of each lane how many of its first jobs there are of each kind, and since when which of them has been due for longest.
select l.i - 1, f.kind, count(*), (min(array[f.run_at, f.id]))[1], (min(array[f.run_at, f.id]))[2]
from unnest($1::text[], $2::integer[]) with ordinality l (queue, rank, i) cross join lateral (
    select r.kind, r.run_at, r.id from {prefix}ready r where r.queue = l.queue and r.rank = l.rank order by r.id limit $3::bigint
) f group by l.i, f.kind;

-- name: problems_counts
select n.name, (select count(*) from (select 1 from {prefix}ready r where r.queue = n.name limit $2::bigint) x) from unnest($1::text[]) n (name);

-- name: problems_paused
select name, paused_at from {prefix}queues;

-- name: problems_keys
with recursive k (name, n) as (
    (select limit_key, 1 from {prefix}throttled order by limit_key limit 1)
    union all
    select x.limit_key, k.n + 1 from k cross join lateral (
        select t.limit_key from {prefix}throttled t where t.limit_key > k.name order by t.limit_key limit 1
    ) x where k.n < $1::bigint
)
select name from k;

-- name: problems_waiting
select e.key, (select count(*) from (select 1 from {prefix}throttled t where t.limit_key = e.key limit $2::bigint) x) from unnest($1::text[]) e (key);

-- name: problems_held
-- Keys with their rules, and since when one of the first jobs waits. The rule of a job that came with an application's transaction may
-- not be there yet.
select e.i - 1, coalesce(l.max, 0), coalesce(l.rate, 0), coalesce(l.per, 0), coalesce(l.burst, 0), coalesce(l.active, 0), coalesce(l.reserved, 0),
    coalesce(l.tat, 0), coalesce((select min(f.run_at) from (
        select t.run_at from {prefix}throttled t where t.limit_key >= e.key and t.limit_key <= e.key order by t.limit_key, t.rank, t.id limit $2::bigint
    ) f), 0)
from unnest($1::text[]) with ordinality e (key, i)
left join lateral (select * from {prefix}limits l where l.limit_key = e.key offset 0) l on true;

-- name: problems_kinds
-- The kinds with failed jobs, each with its newest. A kind is a range and comes first in the order, so that no other index fits, here and
-- below.
with recursive k (name, n) as (
    (select kind, 1 from {prefix}failed order by kind limit 1)
    union all
    select x.kind, k.n + 1 from k cross join lateral (
        select f.kind from {prefix}failed f where f.kind > k.name order by f.kind limit 1
    ) x where k.n < $1::bigint
)
select k.name, f.finished_at, f.id from k cross join lateral (
    select f.finished_at, f.id from {prefix}failed f where f.kind >= k.name and f.kind <= k.name order by f.kind desc, f.finished_at desc, f.id desc limit 1
) f;

-- name: problems_failures
-- How many failed jobs of each kind there are: in all, in the last hour, and in the one before it; when the first of them failed, and with
-- what the newest did.
select e.i - 1, (select count(*) from (select 1 from {prefix}failed f where f.kind >= e.kind and f.kind <= e.kind order by f.kind limit $5::bigint) x),
    (select count(*) from (
        select 1 from {prefix}failed f where (f.kind, f.finished_at) > (e.kind, $3::bigint) and f.kind <= e.kind
        order by f.kind, f.finished_at limit $5::bigint) x),
    (select count(*) from (
        select 1 from {prefix}failed f where (f.kind, f.finished_at) > (e.kind, $4::bigint) and (f.kind, f.finished_at) <= (e.kind, $3::bigint)
        order by f.kind, f.finished_at limit $5::bigint) x),
    coalesce((select f.finished_at from {prefix}failed f where f.kind >= e.kind and f.kind <= e.kind order by f.kind, f.finished_at limit 1), 0),
    coalesce((select case h.state when 'failed' then h.error end from {prefix}history h where h.id = e.newest order by h.seq desc limit 1), '')
from unnest($1::text[], $2::bigint[]) with ordinality e (kind, newest, i);

-- name: problems_late
select r.id, r.paused, r.next_run_at, r.last_job_id, coalesce((select f.finished_at from {prefix}failed f where f.id = r.last_job_id), 0)
from {prefix}recurring r where not r.paused and r.next_run_at > 0 and r.next_run_at < $1::bigint order by r.next_run_at limit $2::bigint;

-- name: problems_failed_runs
-- Of the first recurring jobs those whose last job failed.
select r.id, r.paused, r.next_run_at, r.last_job_id, f.finished_at
from (select id, paused, next_run_at, last_job_id from {prefix}recurring order by id limit $1::bigint) r
cross join lateral (select finished_at from {prefix}failed f where f.id = r.last_job_id offset 0) f order by f.finished_at desc, r.id limit $2::bigint;
