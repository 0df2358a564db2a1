-- What waits for jobs and batches that have ended. Endings come as a JSON list of [id, from, to]: the dependents with ids above
-- from, up to to, are settled. All of a round go together, so that a round costs a few statements however many they are.

-- name: flow_count
select count(*) from (
    select 1 from json_each(?1) e cross join {prefix}deps d
    on d.parent = e.value ->> 0 and d.child > e.value ->> 1 and d.child <= e.value ->> 2 limit ?2);

-- name: flow_children
select e.key, d.child, d.mask, a.pending, a.flags, a.run_at, a.queue,
    case when a.flags & ?2 then (select j.batch_id from {prefix}jobs j where j.id = a.id) else 0 end
from json_each(?1) e cross join {prefix}deps d
on d.parent = e.value ->> 0 and d.child > e.value ->> 1 and d.child <= e.value ->> 2
cross join {prefix}awaiting a on a.id = d.child
where d.open = 1;

-- name: flow_span
select count(*), coalesce(max(child), 0) from (
    select child from {prefix}deps where parent = ?1 and child > ?2 and child <= ?3 order by child limit ?4);

-- name: flow_batch_count
select count(*) from (
    select 1 from json_each(?1) e cross join {prefix}jobs j
    on j.after_batch = e.value ->> 0 and j.after_batch > 0 and j.id > e.value ->> 1 and j.id <= e.value ->> 2 limit ?2);

-- name: flow_batch_waiting
select e.key, j.id, 0, a.pending, a.flags, a.run_at, a.queue, case when a.flags & ?2 then j.batch_id else 0 end
from json_each(?1) e cross join {prefix}jobs j
on j.after_batch = e.value ->> 0 and j.after_batch > 0 and j.id > e.value ->> 1 and j.id <= e.value ->> 2
cross join {prefix}awaiting a on a.id = j.id;

-- name: flow_batch_span
select count(*), coalesce(max(id), 0) from (
    select id from {prefix}jobs where after_batch = ?1 and after_batch > 0 and id > ?2 and id <= ?3 order by id limit ?4);

-- name: flow_ready
insert into {prefix}ready (queue, kind, rank, id, flags, claim, attempt, run_at, attempted_at, server)
select a.queue, a.kind, a.rank, a.id, a.flags, 0, 0, a.run_at, 0, '' from json_each(?1) e cross join {prefix}awaiting a on a.id = e.value;

-- name: flow_scheduled
insert into {prefix}scheduled (queue, kind, rank, id, flags, claim, attempt, run_at, attempted_at, server)
select a.queue, a.kind, a.rank, a.id, a.flags, 0, 0, a.run_at, 0, '' from json_each(?1) e cross join {prefix}awaiting a on a.id = e.value;

-- name: flow_throttled
insert into {prefix}throttled (queue, kind, rank, id, flags, claim, attempt, run_at, attempted_at, server, limit_key)
select a.queue, a.kind, a.rank, a.id, a.flags, 0, 0, a.run_at, 0, '', j.limit_key
from json_each(?1) e cross join {prefix}awaiting a on a.id = e.value cross join {prefix}jobs j on j.id = a.id;

-- name: flow_keys
select distinct j.limit_key from json_each(?1) e cross join {prefix}jobs j on j.id = e.value;

-- name: flow_doomed
insert into {prefix}done (id, state, flags, claim, attempt, run_at, attempted_at, server, finished_at)
select a.id, ?2, a.flags, 0, 0, a.run_at, 0, '', ?3 from json_each(?1) e cross join {prefix}awaiting a on a.id = e.value;

-- name: flow_deadlines
delete from {prefix}deadlines where (deadline, id) in (
    select j.deadline, j.id from json_each(?1) e cross join {prefix}jobs j on j.id = e.value);

-- name: flow_left
delete from {prefix}awaiting where id in (select value from json_each(?1));

-- name: flow_pending
-- Jobs that wait on, as [id, how many fewer they wait for].
insert or replace into {prefix}awaiting (id, queue, kind, rank, flags, run_at, pending)
select a.id, a.queue, a.kind, a.rank, a.flags, a.run_at, a.pending - (e.value ->> 1)
from json_each(?1) e cross join {prefix}awaiting a on a.id = e.value ->> 0;

-- name: flow_close
-- Only for jobs that wait on: what nobody waits with any more needs no account.
update {prefix}deps set open = 0 where (parent, child) in (select value ->> 0, value ->> 1 from json_each(?1));

-- name: flow_drop
delete from {prefix}deps where parent = ? and child > ? and child <= ?;

-- name: flow_drop_parents
delete from {prefix}deps where parent in (select value ->> 0 from json_each(?1));

-- name: flow_drop_children
delete from {prefix}deps where child in (select value from json_each(?1));

-- name: flow_ended
-- Those of the jobs that others wait for, while they are still leased.
select l.id from json_each(?1) e cross join {prefix}lease l on l.id = e.value where l.flags & ?2 <> 0;

-- name: endings_behind
-- Jobs that ended before and whose dependents are not all settled.
select distinct job from {prefix}endings where job in (select value from json_each(?1));

-- name: endings_add
insert into {prefix}endings (job, batch, state, settled, until) values (?, ?, ?, ?, ?);

-- name: endings_next
select seq, job, batch, state, settled, until from {prefix}endings order by seq limit ?;

-- name: endings_move
update {prefix}endings set settled = ? where seq = ?;

-- name: endings_drop
delete from {prefix}endings where seq = ?;

-- What Sweep repairs looks at a slice of the waiting jobs at a time.

-- name: flow_slice
select count(*), coalesce(max(id), 0) from (select id from {prefix}awaiting where id > ?1 order by id limit ?2);

-- name: flow_stranded
-- Open dependencies on jobs that have ended in a way that settles them, or that are gone.
select d.parent, d.child, case when n.state = 1 then 'succeeded' when n.state = 2 then 'deleted' when f.id is not null then 'failed' else 'pruned' end
from {prefix}awaiting a cross join {prefix}deps d on d.child = a.id
left join {prefix}done n on n.id = d.parent
left join {prefix}failed f on f.id = d.parent
where a.id > ?1 and a.id <= ?2 and d.open = 1
    and (n.id is not null or f.id is not null and d.mask & ?3 <> 0 or not exists (select 1 from {prefix}jobs j where j.id = d.parent));

-- name: flow_recount
-- Jobs that count another number of things to wait for than there are.
select id, pending, pending - n, flags, run_at, queue, batch_id from (
    select a.id, a.pending, a.flags, a.run_at, a.queue, j.batch_id,
        (select count(*) from {prefix}deps d where d.child = a.id and d.open = 1)
        + exists (select 1 from {prefix}batches b where b.id = j.after_batch and b.finished_at = 0) as n
    from {prefix}awaiting a cross join {prefix}jobs j on j.id = a.id
    where a.id > ?1 and a.id <= ?2)
where pending <> n or n = 0;
