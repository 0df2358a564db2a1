-- A claim takes the first ready jobs of some lanes, each a queue and a rank, in order. It never walks over what this process has
-- taken before: every lane begins behind its mark, so that a job costs as many pages with 300,000 deleted rows behind it, which an idle
-- transaction somewhere keeps in the index, as with none (TestCaseB118).

-- name: claim_lanes
-- The ranks that queues have ready jobs of, with where each begins and its highest id. This walks over deleted rows; the claim that
-- follows begins where it has come to.
select q.queue, l.rank, l.first - 1, (select r.id from {prefix}ready r where r.queue = q.queue and r.rank = l.rank order by r.id desc limit 1)
from unnest($1::text[]) q (queue) cross join lateral (
    with recursive ranks (rank, first) as (
        (select r.rank, r.id from {prefix}ready r where r.queue = q.queue order by r.rank, r.id limit 1)
        union all
        select n.rank, n.id from ranks cross join lateral (
            select r.rank, r.id from {prefix}ready r where r.queue = q.queue and r.rank > ranks.rank order by r.rank, r.id limit 1
        ) n
    )
    select rank, first from ranks
) l;

-- name: claim
-- Rows are locked lane by lane, no more than are taken, and deleted by their place, which leaves the planner nothing to choose.
with n as (
    select coalesce($1::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) as at
), c as materialized (
    select t.place from unnest($2::text[], $3::integer[], $4::bigint[]) l (queue, rank, mark) cross join lateral (
        select r.ctid as place from {prefix}ready r
        where r.queue = l.queue and r.rank = l.rank and r.id > l.mark and ($5::text[] is null or r.kind = any($5::text[]))
            and not exists (select 1 from {prefix}queues p where p.name = l.queue)
        order by r.id limit $6 for update of r skip locked
    ) t limit $6
), x as (
    delete from {prefix}ready where ctid = any(array(select place from c))
    returning id, run_at, flags, claim, attempt, rank, queue, kind
), s as (
    insert into {prefix}lease (id, run_at, attempted_at, flags, claim, attempt, server)
    select x.id, x.run_at, n.at, x.flags, x.claim + 1, x.attempt + 1, $7 from x, n
), d as (
    delete from {prefix}deadlines where ctid = any(array(
        select d.place from x
        cross join lateral (select deadline from {prefix}jobs j where j.id = x.id offset 0) j
        cross join lateral (select ctid as place from {prefix}deadlines d where d.deadline = j.deadline and d.id = x.id offset 0) d
        where x.flags & 32 <> 0))
)
select x.id, x.run_at, x.flags, x.claim + 1, x.attempt + 1, x.rank, x.queue, x.kind, n.at, j.created_at, j.timeout, j.max_attempts, j.args,
    j.batch_id, j.limit_key, j.recurring_id, j.parents, j.title, j.tags,
    case when x.flags & 64 <> 0 then coalesce((select m.meta from {prefix}metas m where m.id = x.id), j.meta) else j.meta end
from x cross join n cross join lateral (
    select created_at, timeout, max_attempts, args, batch_id, limit_key, recurring_id, parents, title, tags, meta from {prefix}jobs j where j.id = x.id offset 0
) j;
