-- What waits for jobs and batches that have ended. Endings come as lists of (of whom, from, to): the dependents with ids above
-- from, up to to, are settled. All of a round go together, so that a round costs a few statements however many they are.

-- name: insert_deps
insert into {prefix}deps (parent, child, mask, open) select e.* from unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::boolean[]) e;

-- name: parents_read
-- Where the parents of new jobs stand, and their flags there.
select j.id, coalesce(s.state, ''), coalesce(s.flags, 0) from unnest($1::bigint[]) e (id)
cross join lateral (select id, queue, priority from {prefix}jobs j where j.id = e.id offset 0) j
left join lateral (
    select 'enqueued' as state, flags from {prefix}ready r where r.queue = j.queue and r.rank = -j.priority::integer and r.id = j.id
    union all select 'processing', flags from {prefix}lease l where l.id = j.id
    union all select 'scheduled', flags from {prefix}scheduled s where s.id = j.id
    union all select 'throttled', flags from {prefix}throttled t where t.id = j.id
    union all select 'awaiting', flags from {prefix}awaiting a where a.id = j.id
    union all select 'failed', flags from {prefix}failed f where f.id = j.id
    union all select case state when 1 then 'succeeded' else 'deleted' end, flags from {prefix}done d where d.id = j.id
    offset 0
) s on true;

-- The row of a job learns that others wait for it, wherever it is.

-- name: parents_enqueued
update {prefix}ready set flags = flags | $2 where ctid = any(array(
    select r.place from unnest($1::bigint[]) e (id)
    cross join lateral (select id, queue, priority from {prefix}jobs j where j.id = e.id offset 0) j
    cross join lateral (
        select ctid as place from {prefix}ready r where r.queue = j.queue and r.rank = -j.priority::integer and r.id = j.id offset 0 for update
    ) r));

-- name: parents_processing
update {prefix}lease set flags = flags | $2 where id = any($1::bigint[]);

-- name: parents_scheduled
update {prefix}scheduled set flags = flags | $2 where id = any($1::bigint[]);

-- name: parents_throttled
update {prefix}throttled set flags = flags | $2 where id = any($1::bigint[]);

-- name: parents_awaiting
update {prefix}awaiting set flags = flags | $2 where id = any($1::bigint[]);

-- name: parents_failed
update {prefix}failed set flags = flags | $2 where id = any($1::bigint[]);

-- name: parents_done
update {prefix}done set flags = flags | $2 where id = any($1::bigint[]);

-- name: flow_count
select count(*) from (
    select 1 from unnest($1::bigint[], $2::bigint[], $3::bigint[]) e (parent, after, upto) cross join lateral (
        select 1 from {prefix}deps d where d.parent = e.parent and d.child > e.after and d.child <= e.upto offset 0
    ) d limit $4) c;

-- name: flow_children
-- Locked, in the order of their ids: two parents that end at the same time must not both believe that the other is still open.
with d as materialized (
    select e.key, d.child, d.mask from unnest($1::bigint[], $2::bigint[], $3::bigint[]) with ordinality e (parent, after, upto, key)
    cross join lateral (
        select child, mask from {prefix}deps d where d.parent = e.parent and d.child > e.after and d.child <= e.upto and d.open offset 0
    ) d order by d.child, e.key
)
select d.key - 1, d.child, d.mask, a.pending, a.flags, a.run_at, a.queue, a.rank,
    case when a.flags & 16 <> 0 then (select coalesce(j.batch_id, 0) from {prefix}jobs j where j.id = d.child) else 0 end
from d cross join lateral (
    select pending, flags, run_at, queue, rank from {prefix}awaiting a where a.id = d.child offset 0 for update
) a;

-- name: flow_span
select count(*), coalesce(max(child), 0) from (
    select child from {prefix}deps where parent = $1 and child > $2 and child <= $3 order by child limit $4) c;

-- name: flow_batch_count
select count(*) from (
    select 1 from unnest($1::bigint[], $2::bigint[], $3::bigint[]) e (batch, after, upto) cross join lateral (
        select 1 from {prefix}jobs j where j.after_batch = e.batch and j.after_batch > 0 and j.id > e.after and j.id <= e.upto offset 0
    ) j limit $4) c;

-- name: flow_batch_waiting
with j as materialized (
    select e.key, j.id, j.batch_id from unnest($1::bigint[], $2::bigint[], $3::bigint[]) with ordinality e (batch, after, upto, key)
    cross join lateral (
        select id, batch_id from {prefix}jobs j
        where j.after_batch = e.batch and j.after_batch > 0 and j.id > e.after and j.id <= e.upto offset 0
    ) j order by j.id, e.key
)
select j.key - 1, j.id, 0::smallint, a.pending, a.flags, a.run_at, a.queue, a.rank, coalesce(j.batch_id, 0)
from j cross join lateral (
    select pending, flags, run_at, queue, rank from {prefix}awaiting a where a.id = j.id offset 0 for update
) a;

-- name: flow_batch_span
select count(*), coalesce(max(id), 0) from (
    select id from {prefix}jobs where after_batch = $1 and after_batch > 0 and id > $2 and id <= $3 order by id limit $4) c;

-- name: flow_ready
with x as (
    delete from {prefix}awaiting where id = any($1::bigint[]) returning id, run_at, flags, rank, queue, kind
)
insert into {prefix}ready (id, run_at, flags, claim, attempt, rank, queue, kind) select id, run_at, flags, 0, 0, rank, queue, kind from x;

-- name: flow_scheduled
with x as (
    delete from {prefix}awaiting where id = any($1::bigint[]) returning id, run_at, flags, rank, queue, kind
)
insert into {prefix}scheduled (id, run_at, flags, claim, attempt, rank, queue, kind) select id, run_at, flags, 0, 0, rank, queue, kind from x;

-- name: flow_throttled
with x as (
    delete from {prefix}awaiting where id = any($1::bigint[]) returning id, run_at, flags, rank, queue, kind
)
insert into {prefix}throttled (id, run_at, flags, claim, attempt, rank, limit_key, queue, kind)
select x.id, x.run_at, x.flags, 0, 0, x.rank, j.limit_key, x.queue, x.kind from x cross join lateral (select limit_key from {prefix}jobs j where j.id = x.id offset 0) j;

-- name: flow_doomed
with x as (
    delete from {prefix}awaiting where id = any($1::bigint[]) returning id, run_at, flags
)
insert into {prefix}done (id, run_at, finished_at, flags, claim, attempt, state) select id, run_at, $3, flags, 0, 0, $2 from x;

-- name: flow_pending
-- They are locked.
update {prefix}awaiting a set pending = a.pending - e.fewer from (
    select a.place, e.fewer from unnest($1::bigint[], $2::integer[]) e (id, fewer)
    cross join lateral (select ctid as place from {prefix}awaiting a where a.id = e.id offset 0) a
) e where a.ctid = e.place;

-- name: flow_close
-- Only for jobs that wait on: what nobody waits with any more needs no account.
update {prefix}deps set open = false where ctid = any(array(
    select d.place from unnest($1::bigint[], $2::bigint[]) e (parent, child)
    cross join lateral (select ctid as place from {prefix}deps d where d.parent = e.parent and d.child = e.child offset 0) d));

-- name: flow_drop
delete from {prefix}deps where ctid = any(array(
    select d.place from unnest($1::bigint[], $2::bigint[], $3::bigint[]) e (parent, after, upto) cross join lateral (
        select ctid as place from {prefix}deps d where d.parent = e.parent and d.child > e.after and d.child <= e.upto offset 0
    ) d));

-- name: flow_drop_children
delete from {prefix}deps where child = any($1::bigint[]);

-- name: endings_behind
-- Jobs that ended before and whose dependents are not all settled.
select distinct job from {prefix}endings where job = any($1::bigint[]);

-- name: ids_last
select last_value from {prefix}job_ids;

-- name: endings_add
insert into {prefix}endings (job, batch, state, settled, until) values ($1, $2, $3, $4, $5);

-- name: endings_next
-- Who goes on with them does so alone: others pass them over.
select seq, job, batch, state, settled, until from {prefix}endings order by seq limit $1 for update skip locked;

-- name: endings_move
update {prefix}endings set settled = $1 where seq = $2;

-- name: endings_drop
delete from {prefix}endings where seq = any($1::bigint[]);

-- What Sweep repairs looks at a slice of the waiting jobs at a time.

-- name: flow_slice
select count(*), coalesce(max(id), 0) from (select id from {prefix}awaiting where id > $1 order by id limit $2) c;

-- name: flow_lock
select id from {prefix}awaiting where id > $1 and id <= $2 order by id for update;

-- name: flow_stranded
-- Open dependencies on jobs that have ended in a way that settles them, or that are gone.
select d.parent, d.child, case when n.state = 1 then 'succeeded' when n.state = 2 then 'deleted' when f.id is not null then 'failed' else 'pruned' end
from {prefix}awaiting a
cross join lateral (select parent, child, mask from {prefix}deps d where d.child = a.id and d.open offset 0) d
left join lateral (select id, state from {prefix}done n where n.id = d.parent offset 0) n on true
left join lateral (select id from {prefix}failed f where f.id = d.parent offset 0) f on true
left join lateral (select id from {prefix}jobs j where j.id = d.parent offset 0) j on true
where a.id > $1 and a.id <= $2 and (n.id is not null or f.id is not null and d.mask & $3 <> 0 or j.id is null);

-- name: flow_recount
-- Jobs that count another number of things to wait for than there are.
select id, pending, pending - n, flags, run_at, queue, rank, batch_id from (
    select a.id, a.pending, a.flags, a.run_at, a.queue, a.rank, coalesce(j.batch_id, 0) as batch_id,
        (select count(*) from {prefix}deps d where d.child = a.id and d.open)
        + (case when exists (select 1 from {prefix}batches b where b.id = j.after_batch and b.finished_at = 0) then 1 else 0 end) as n
    from {prefix}awaiting a cross join lateral (select batch_id, after_batch from {prefix}jobs j where j.id = a.id offset 0) j
    where a.id > $1 and a.id <= $2) c
where pending <> n or n = 0;
