-- name: promote
-- Due jobs move by one statement: to ready, or to throttled when they have a limit key.
with x as (
    delete from {prefix}scheduled where ctid = any(array(
        select ctid from {prefix}scheduled where run_at <= $1 order by run_at, id limit $2 for update skip locked))
    returning id, run_at, attempted_at, flags, claim, attempt, rank, queue, kind, server
), r as (
    insert into {prefix}ready (id, run_at, attempted_at, flags, claim, attempt, rank, queue, kind, server)
    select id, run_at, attempted_at, flags, claim, attempt, rank, queue, kind, server from x where flags & 2 = 0
), t as (
    insert into {prefix}throttled (id, run_at, attempted_at, flags, claim, attempt, rank, limit_key, queue, kind, server)
    select x.id, x.run_at, x.attempted_at, x.flags, x.claim, x.attempt, x.rank, j.limit_key, x.queue, x.kind, x.server
    from x cross join lateral (select limit_key from {prefix}jobs j where j.id = x.id offset 0) j where x.flags & 2 <> 0
)
select x.id, x.rank, x.flags, x.queue,
    case when x.flags & 16 <> 0 then (select coalesce(j.batch_id, 0) from {prefix}jobs j where j.id = x.id) else 0 end,
    case when x.flags & 2 <> 0 then (select j.limit_key from {prefix}jobs j where j.id = x.id) else '' end
from x;

-- name: promote_next
-- Marked keys, and what transactions of applications have left, are work for the next Promote, as if it had been due since 1970.
select least(
    (select run_at from {prefix}scheduled order by run_at, id limit 1),
    (select deadline from {prefix}deadlines order by deadline, id limit 1),
    (select 1::bigint from {prefix}limits where marked limit 1),
    (select 1::bigint from {prefix}arrivals limit 1),
    (select 1::bigint from {prefix}tallies limit 1)
);

-- name: promote_look
-- Whether anything is due, when the next job or deadline is, and now.
with n as (
    select coalesce($1::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) as at
), x as (
    select least(
        (select run_at from {prefix}scheduled order by run_at, id limit 1),
        (select deadline from {prefix}deadlines order by deadline, id limit 1)) as next
)
select coalesce(x.next <= n.at, false) or exists (select 1 from {prefix}counts) or exists (select 1 from {prefix}limits where marked)
    or exists (select 1 from {prefix}arrivals) or exists (select 1 from {prefix}tallies)
    or exists (select 1 from {prefix}batches where sealed and finished_at = 0 and live = 0 and nested = nested_finished),
    x.next, n.at
from x, n;

-- name: deadlines_passed
select id, deadline from {prefix}deadlines where deadline <= $1 order by deadline, id limit $2;

-- name: deadline_stray
-- Unless the job waits for this very deadline, in whatever state.
delete from {prefix}deadlines d where d.deadline = $1 and d.id = $2 and not coalesce((
    select (select 1 from {prefix}ready r where r.queue = j.queue and r.rank = -j.priority::integer and r.id = j.id limit 1) is not null
        or (select 1 from {prefix}scheduled s where s.id = j.id limit 1) is not null
        or (select 1 from {prefix}throttled t where t.id = j.id limit 1) is not null
        or (select 1 from {prefix}awaiting a where a.id = j.id limit 1) is not null
    from {prefix}jobs j where j.id = $2 and j.deadline = $1), false);
