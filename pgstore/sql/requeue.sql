-- An operator's action on a whole state walks an index from place to place, a thousand jobs per transaction, and moves each thousand by
-- a few statements. Of what a walk meets, queue and kind come along where the table has them.

-- name: walk_batch
select 0::bigint, id, ''::text, ''::text from {prefix}jobs where batch_id = $1::bigint and batch_id > 0 and id > $2::bigint order by id limit $3::bigint;

-- name: walk_recurring
select 0::bigint, id, ''::text, ''::text from {prefix}jobs
where recurring_id = $1::text and recurring_id <> '' and id > $2::bigint order by id limit $3::bigint;

-- name: walk_ready
select rank::bigint, id, queue, kind from {prefix}ready
where (queue, rank, id) > ($1::text, $2::integer, $3::bigint) order by queue, rank, id limit $4::bigint;

-- name: walk_queue
select rank::bigint, id, queue, kind from {prefix}ready
where queue = $1::text and (rank, id) > ($2::integer, $3::bigint) order by rank, id limit $4::bigint;

-- name: walk_processing
select 0::bigint, id, ''::text, ''::text from {prefix}lease where id > $1::bigint order by id limit $2::bigint;

-- name: walk_scheduled
select 0::bigint, id, queue, kind from {prefix}scheduled where id > $1::bigint order by id limit $2::bigint;

-- name: walk_throttled
select 0::bigint, id, queue, kind from {prefix}throttled where id > $1::bigint order by id limit $2::bigint;

-- name: walk_awaiting
select 0::bigint, id, queue, kind from {prefix}awaiting where id > $1::bigint order by id limit $2::bigint;

-- name: walk_failed
select 0::bigint, id, queue, kind from {prefix}failed where id > $1::bigint order by id limit $2::bigint;

-- name: walk_done
select finished_at, id, ''::text, ''::text from {prefix}done
where state = $1::smallint and (finished_at, id) > ($2::bigint, $3::bigint) and finished_at <= $4::bigint
order by finished_at, id limit $5::bigint;

-- name: leases_cancel
with held as (
    select id from {prefix}lease where id = any($1::bigint[]) and not cancel order by id for update
)
update {prefix}lease l set cancel = true from held h where l.id = h.id;

-- The moves of waiting jobs to deleted. Rows are locked by id, so that two that act on the same jobs wait instead of ending in a
-- deadlock. A row that is not as it was read is left out, and its absence from the count makes the transaction again.

-- name: delete_ready
with held as (
    select r.queue, r.rank, r.id from unnest($3::text[], $4::integer[], $1::bigint[], $2::integer[]) e (queue, rank, id, flags)
    join {prefix}ready r on r.queue = e.queue and r.rank = e.rank and r.id = e.id and r.flags = e.flags order by r.id for update of r
), gone as (
    delete from {prefix}ready r using held h where r.queue = h.queue and r.rank = h.rank and r.id = h.id
    returning r.id, r.run_at, r.attempted_at, r.flags, r.claim, r.attempt, r.server
)
insert into {prefix}done (id, run_at, attempted_at, finished_at, flags, claim, attempt, state, server)
select id, run_at, attempted_at, $5::bigint, flags, claim, attempt, 2, server from gone;

-- name: delete_scheduled
with held as (
    select s.id from unnest($1::bigint[], $2::integer[]) e (id, flags)
    join {prefix}scheduled s on s.id = e.id and s.flags = e.flags order by s.id for update of s
), gone as (
    delete from {prefix}scheduled s using held h where s.id = h.id
    returning s.id, s.run_at, s.attempted_at, s.flags, s.claim, s.attempt, s.server
)
insert into {prefix}done (id, run_at, attempted_at, finished_at, flags, claim, attempt, state, server)
select id, run_at, attempted_at, $3::bigint, flags & ~$4::integer, claim, attempt, 2, server from gone;

-- name: delete_throttled
with held as (
    select t.id from unnest($1::bigint[], $2::integer[]) e (id, flags)
    join {prefix}throttled t on t.id = e.id and t.flags = e.flags order by t.id for update of t
), gone as (
    delete from {prefix}throttled t using held h where t.id = h.id
    returning t.id, t.run_at, t.attempted_at, t.flags, t.claim, t.attempt, t.server
)
insert into {prefix}done (id, run_at, attempted_at, finished_at, flags, claim, attempt, state, server)
select id, run_at, attempted_at, $3::bigint, flags & ~$4::integer, claim, attempt, 2, server from gone;

-- name: delete_awaiting
with held as (
    select a.id from unnest($1::bigint[], $2::integer[]) e (id, flags)
    join {prefix}awaiting a on a.id = e.id and a.flags = e.flags order by a.id for update of a
), gone as (
    delete from {prefix}awaiting a using held h where a.id = h.id returning a.id, a.run_at, a.flags
)
insert into {prefix}done (id, run_at, finished_at, flags, claim, attempt, state)
select id, run_at, $3::bigint, flags, 0, 0, 2 from gone;

-- name: delete_failed
with held as (
    select f.id from unnest($1::bigint[], $2::integer[]) e (id, flags)
    join {prefix}failed f on f.id = e.id and f.flags = e.flags order by f.id for update of f
), gone as (
    delete from {prefix}failed f using held h where f.id = h.id
    returning f.id, f.run_at, f.attempted_at, f.flags, f.claim, f.attempt, f.server
)
insert into {prefix}done (id, run_at, attempted_at, finished_at, flags, claim, attempt, state, server)
select id, run_at, attempted_at, $3::bigint, flags, claim, attempt, 2, server from gone;

-- The moves of jobs back to their queues: those with a limit wait for admission, the others are ready. Each returns how many moved.

-- name: requeue_scheduled
with held as (
    select s.id from unnest($1::bigint[], $2::integer[]) e (id, flags)
    join {prefix}scheduled s on s.id = e.id and s.flags = e.flags order by s.id for update of s
), gone as (
    delete from {prefix}scheduled s using held h where s.id = h.id
    returning s.id, s.attempted_at, s.flags & ~$4::integer as flags, s.claim, s.attempt, s.rank, s.queue, s.kind, s.server
), queued as (
    insert into {prefix}ready (id, run_at, attempted_at, flags, claim, attempt, rank, queue, kind, server)
    select id, $3::bigint, attempted_at, flags, claim, attempt, rank, queue, kind, server from gone where flags & $5::integer = 0
    returning 1
), throttled as (
    insert into {prefix}throttled (id, run_at, attempted_at, flags, claim, attempt, rank, limit_key, queue, kind, server)
    select g.id, $3::bigint, g.attempted_at, g.flags, g.claim, g.attempt, g.rank, j.limit_key, g.queue, g.kind, g.server
    from gone g cross join lateral (select limit_key from {prefix}jobs j where j.id = g.id offset 0) j where g.flags & $5::integer <> 0
    returning 1
)
select (select count(*) from queued) + (select count(*) from throttled);

-- name: requeue_failed
with held as (
    select f.id from unnest($1::bigint[], $2::integer[]) e (id, flags)
    join {prefix}failed f on f.id = e.id and f.flags = e.flags order by f.id for update of f
), gone as (
    delete from {prefix}failed f using held h where f.id = h.id
    returning f.id, f.attempted_at, f.flags & ~$4::integer as flags, f.claim, f.server
), whole as (
    select g.id, g.attempted_at, g.flags, g.claim, g.server, -j.priority::integer as rank, j.queue, j.kind, j.limit_key
    from gone g cross join lateral (select priority, queue, kind, limit_key from {prefix}jobs j where j.id = g.id offset 0) j
), queued as (
    insert into {prefix}ready (id, run_at, attempted_at, flags, claim, attempt, rank, queue, kind, server)
    select id, $3::bigint, attempted_at, flags, claim, 0, rank, queue, kind, server from whole where flags & $5::integer = 0
    returning 1
), throttled as (
    insert into {prefix}throttled (id, run_at, attempted_at, flags, claim, attempt, rank, limit_key, queue, kind, server)
    select id, $3::bigint, attempted_at, flags, claim, 0, rank, limit_key, queue, kind, server from whole where flags & $5::integer <> 0
    returning 1
)
select (select count(*) from queued) + (select count(*) from throttled);

-- name: requeue_done
with held as (
    select d.id from unnest($1::bigint[], $2::integer[]) e (id, flags)
    join {prefix}done d on d.id = e.id and d.flags = e.flags order by d.id for update of d
), gone as (
    delete from {prefix}done d using held h where d.id = h.id
    returning d.id, d.attempted_at, d.flags & ~$4::integer as flags, d.claim, d.server
), whole as (
    select g.id, g.attempted_at, g.flags, g.claim, g.server, -j.priority::integer as rank, j.queue, j.kind, j.limit_key
    from gone g cross join lateral (select priority, queue, kind, limit_key from {prefix}jobs j where j.id = g.id offset 0) j
), queued as (
    insert into {prefix}ready (id, run_at, attempted_at, flags, claim, attempt, rank, queue, kind, server)
    select id, $3::bigint, attempted_at, flags, claim, 0, rank, queue, kind, server from whole where flags & $5::integer = 0
    returning 1
), throttled as (
    insert into {prefix}throttled (id, run_at, attempted_at, flags, claim, attempt, rank, limit_key, queue, kind, server)
    select id, $3::bigint, attempted_at, flags, claim, 0, rank, limit_key, queue, kind, server from whole where flags & $5::integer <> 0
    returning 1
)
select (select count(*) from queued) + (select count(*) from throttled);

-- name: requeue_attempts
-- A scheduled job that comes back early may run once more, whatever was allowed.
update {prefix}jobs j set max_attempts = e.attempts from unnest($1::bigint[], $2::integer[]) e (id, attempts)
where j.id = e.id and j.max_attempts < e.attempts;

-- name: requeue_outputs
delete from {prefix}outputs where id = any($1::bigint[]);

-- name: requeue_deadlines
-- A job that waits again ends at its deadline again.
insert into {prefix}deadlines (deadline, id) select deadline, id from unnest($1::bigint[], $2::bigint[]) e (deadline, id);

-- name: delete_deadlines
delete from {prefix}deadlines d using unnest($1::bigint[], $2::bigint[]) e (deadline, id) where d.deadline = e.deadline and d.id = e.id;

-- name: queue_pause
insert into {prefix}queues (name, paused_at) values ($1::text, $2::bigint) on conflict (name) do nothing;

-- name: queue_resume
delete from {prefix}queues where name = $1::text;
