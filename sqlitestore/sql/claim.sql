-- A lane is the ready jobs of one queue and kind, in the order of their start. A claim reads the head of a lane and moves it
-- as a range, so that its cost depends neither on how many jobs are ready nor on jobs of other kinds: 1.2 microseconds per
-- job and statement at 100 per claim, against 5 and more with one statement per job.

-- name: claim_lanes
-- The kinds that a queue has ready jobs of, one index seek each.
with recursive lane (kind) as (
    select (select kind from {prefix}ready where queue = ?1 order by kind limit 1)
    union all
    select (select r.kind from {prefix}ready r where r.queue = ?1 and r.kind > lane.kind order by r.kind limit 1)
    from lane where lane.kind is not null
)
select kind from lane where kind is not null;

-- name: claim_pick
-- The next jobs of several lanes in one order. The recursion is a priority queue: it begins with the head of each lane, and
-- each job that is taken brings in the one behind it. (Pairs of columns
-- are compared column by column: SQLite seeks by a pair only if it is compared with constants.)
with recursive
line (kind, rank, id) as (
    select k.value, -j.priority, j.id
    from (select distinct value from json_each(?2)) k cross join {prefix}jobs j
    on j.id = (select r.id from {prefix}ready r where r.queue = ?1 and r.kind = k.value order by r.rank, r.id limit 1)
    where not exists (select 1 from {prefix}queues where name = ?1)
    union all
    select line.kind, -j.priority, j.id from line cross join {prefix}jobs j
    on j.id = coalesce(
        (select r.id from {prefix}ready r where r.queue = ?1 and r.kind = line.kind and r.rank = line.rank and r.id > line.id
            order by r.id limit 1),
        (select r.id from {prefix}ready r where r.queue = ?1 and r.kind = line.kind and r.rank > line.rank
            order by r.rank, r.id limit 1))
    order by 2, 3 limit ?3
)
select kind from line;

-- name: claim_read
-- Four columns less made a claim a fifth cheaper, so those that few jobs have are left to claim_special; and an instant costs an
-- allocation, so the run time is null when it is the same as the creation. The limit key is there because jobs of a limit often have
-- nothing else that is special.
select r.rank, r.id, r.flags, r.claim, r.attempt, nullif(r.run_at, j.created_at), j.max_attempts, j.timeout, j.created_at,
    nullif(j.limit_key, ''), j.args
from {prefix}ready r cross join {prefix}jobs j on j.id = r.id
where r.queue = ?1 and r.kind = ?2 and not exists (select 1 from {prefix}queues where name = ?1)
order by r.rank, r.id limit ?3;

-- name: claim_lease
insert into {prefix}lease (id, queue, kind, rank, flags, claim, attempt, run_at, attempted_at, server)
select id, queue, kind, rank, flags, claim + 1, attempt + 1, run_at, ?5, ?6
from {prefix}ready where queue = ?1 and kind = ?2 and (rank, id) <= (?3, ?4);

-- name: claim_take
delete from {prefix}ready where queue = ?1 and kind = ?2 and (rank, id) <= (?3, ?4);

-- name: claim_special
-- What only flagged jobs have. Their deadline ends with the claim, and SetMeta may have written a newer meta.
select e.key, j.deadline, j.batch_id, j.recurring_id, j.title, j.tags, j.parents, coalesce(m.meta, j.meta)
from json_each(?1) e cross join {prefix}jobs j on j.id = e.value left join {prefix}metas m on m.id = j.id;

-- name: claim_deadlines
delete from {prefix}deadlines where (deadline, id) in (select value ->> 0, value ->> 1 from json_each(?1));

-- name: deadline_drop
delete from {prefix}deadlines where deadline = ? and id = ?;
