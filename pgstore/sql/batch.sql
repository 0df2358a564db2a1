-- name: batch_put
insert into {prefix}batches (id, parent, created_at, meta, description) values (nextval('{prefix}batch_ids'), $1, $2, $3, $4) returning id;

-- name: batch_join
-- Whoever joins a batch, or waits for it, keeps it from finishing until the transaction ends. The lock is one that others can have too, and
-- that does not hold up the counting of members.
select b.id, b.finished_at from {prefix}batches b where b.id = any($1::bigint[]) order by b.id for key share;

-- name: batch_tally
-- One update per batch and call, however many members moved.
update {prefix}batches set total = total + $2, awaiting = awaiting + $3, scheduled = scheduled + $4, throttled = throttled + $5,
    active = active + $6, failed = failed + $7, succeeded = succeeded + $8, deleted = deleted + $9,
    live = live + $3 + $4 + $5 + $6 + $7, members = members + $3 + $4 + $5 + $6 + $7 + $8 + $9,
    nested = nested + $10, nested_finished = nested_finished + $11, sealed = sealed or $12
where id = $1
returning parent, sealed, finished_at > 0, live, nested, nested_finished;

-- name: batch_finish
-- Not while somebody is joining it.
update {prefix}batches set finished_at = $2
where id = (select id from {prefix}batches where id = $1 for update skip locked)
    and sealed and finished_at = 0 and live = 0 and nested = nested_finished
    and not exists (select 1 from {prefix}tallies where batch = $1);

-- name: tallies_add
insert into {prefix}tallies (batch, total, awaiting, scheduled, throttled, active, failed, succeeded, deleted, nested, nested_finished, sealed)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12);

-- name: tallies_take
with x as (
    delete from {prefix}tallies where ctid = any(array(select ctid from {prefix}tallies order by batch limit $1 for update skip locked))
    returning batch, total, awaiting, scheduled, throttled, active, failed, succeeded, deleted, nested, nested_finished, sealed
)
select * from x;

-- name: arrivals_any
select exists (select 1 from {prefix}arrivals) or exists (select 1 from {prefix}tallies)
    or exists (select 1 from {prefix}batches where sealed and finished_at = 0 and live = 0 and nested = nested_finished);

-- name: arrivals_add
insert into {prefix}arrivals (job, limit_key, max, rate, burst, per)
select e.job, e.limit_key, e.max, e.rate, e.burst, e.per
from unnest($1::bigint[], $2::text[], $3::integer[], $4::integer[], $5::integer[], $6::bigint[]) with ordinality
    e (job, limit_key, max, rate, burst, per, place) order by e.place;

-- name: arrivals_take
with x as (
    delete from {prefix}arrivals where seq = any(array(select seq from {prefix}arrivals order by seq limit $1 for update skip locked))
    returning seq, job, limit_key, max, rate, burst, per
)
select * from x;

-- name: arrivals_deps
-- The parents of new jobs, and whether these still wait for them: those that have been deleted meanwhile wait for nothing.
select d.parent, d.child, d.open and a.id is not null
from unnest($1::bigint[]) e (child) cross join lateral (
    select parent, child, open from {prefix}deps d where d.child = e.child offset 0
) d left join lateral (select id from {prefix}awaiting a where a.id = d.child offset 0) a on true;

-- name: batch_members
-- How many of the jobs belong to which batches.
select j.batch_id, count(*) from unnest($1::bigint[]) e (id)
cross join lateral (select batch_id from {prefix}jobs j where j.id = e.id offset 0) j where j.batch_id > 0 group by j.batch_id;

-- name: batch_idle
select id from {prefix}batches where sealed and finished_at = 0 and live = 0 and nested = nested_finished order by id limit $1;

-- name: batch_read
-- What transactions of applications have added and nobody has taken in yet counts too, here and below.
select b.id, b.parent, b.sealed or coalesce(t.sealed, false), b.total + coalesce(t.total, 0), b.awaiting + coalesce(t.awaiting, 0),
    b.scheduled + coalesce(t.scheduled, 0), b.throttled + coalesce(t.throttled, 0), b.active + coalesce(t.active, 0),
    b.failed + coalesce(t.failed, 0), b.succeeded + coalesce(t.succeeded, 0), b.deleted + coalesce(t.deleted, 0),
    b.nested + coalesce(t.nested, 0), b.nested_finished + coalesce(t.nested_finished, 0), b.created_at, b.finished_at, b.meta, b.description
from {prefix}batches b left join lateral (
    select bool_or(t.sealed) as sealed, sum(t.total)::bigint as total, sum(t.awaiting)::bigint as awaiting, sum(t.scheduled)::bigint as scheduled,
        sum(t.throttled)::bigint as throttled, sum(t.active)::bigint as active, sum(t.failed)::bigint as failed,
        sum(t.succeeded)::bigint as succeeded, sum(t.deleted)::bigint as deleted, sum(t.nested)::bigint as nested,
        sum(t.nested_finished)::bigint as nested_finished
    from {prefix}tallies t where t.batch = b.id) t on true
where b.id = $1;

-- name: batch_list
select b.id, b.parent, b.sealed or coalesce(t.sealed, false), b.total + coalesce(t.total, 0), b.awaiting + coalesce(t.awaiting, 0),
    b.scheduled + coalesce(t.scheduled, 0), b.throttled + coalesce(t.throttled, 0), b.active + coalesce(t.active, 0),
    b.failed + coalesce(t.failed, 0), b.succeeded + coalesce(t.succeeded, 0), b.deleted + coalesce(t.deleted, 0),
    b.nested + coalesce(t.nested, 0), b.nested_finished + coalesce(t.nested_finished, 0), b.created_at, b.finished_at, b.meta, b.description
from (select * from {prefix}batches where id < $1 order by id desc limit $2) b left join lateral (
    select bool_or(t.sealed) as sealed, sum(t.total)::bigint as total, sum(t.awaiting)::bigint as awaiting, sum(t.scheduled)::bigint as scheduled,
        sum(t.throttled)::bigint as throttled, sum(t.active)::bigint as active, sum(t.failed)::bigint as failed,
        sum(t.succeeded)::bigint as succeeded, sum(t.deleted)::bigint as deleted, sum(t.nested)::bigint as nested,
        sum(t.nested_finished)::bigint as nested_finished
    from {prefix}tallies t where t.batch = b.id) t on true
order by b.id desc;

-- name: batch_list_nested
select b.id, b.parent, b.sealed or coalesce(t.sealed, false), b.total + coalesce(t.total, 0), b.awaiting + coalesce(t.awaiting, 0),
    b.scheduled + coalesce(t.scheduled, 0), b.throttled + coalesce(t.throttled, 0), b.active + coalesce(t.active, 0),
    b.failed + coalesce(t.failed, 0), b.succeeded + coalesce(t.succeeded, 0), b.deleted + coalesce(t.deleted, 0),
    b.nested + coalesce(t.nested, 0), b.nested_finished + coalesce(t.nested_finished, 0), b.created_at, b.finished_at, b.meta, b.description
from (select * from {prefix}batches where parent = $1 and parent > 0 and id < $2 order by id desc limit $3) b left join lateral (
    select bool_or(t.sealed) as sealed, sum(t.total)::bigint as total, sum(t.awaiting)::bigint as awaiting, sum(t.scheduled)::bigint as scheduled,
        sum(t.throttled)::bigint as throttled, sum(t.active)::bigint as active, sum(t.failed)::bigint as failed,
        sum(t.succeeded)::bigint as succeeded, sum(t.deleted)::bigint as deleted, sum(t.nested)::bigint as nested,
        sum(t.nested_finished)::bigint as nested_finished
    from {prefix}tallies t where t.batch = b.id) t on true
order by b.id desc;

-- name: batch_running
-- How many of the members run: jobs in process are few.
select j.batch_id, count(*) from {prefix}lease l cross join lateral (select batch_id from {prefix}jobs j where j.id = l.id offset 0) j
where l.flags & $2 <> 0 and j.batch_id = any($1::bigint[]) group by j.batch_id;

-- name: prune_batches
-- Inner ones first: what holds another that still exists stays for a later call. One that somebody is joining is left alone.
delete from {prefix}batches where id = any(array(
    select b.id from {prefix}batches b where b.finished_at > 0 and b.members = 0 and b.finished_at <= $1
        and not exists (select 1 from {prefix}batches c where c.parent = b.id and c.parent > 0)
        and not exists (select 1 from {prefix}tallies t where t.batch = b.id)
    order by b.finished_at, b.id limit $2 for update of b skip locked));
