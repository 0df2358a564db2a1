-- An operator's action on a whole state walks an index from place to place, a thousand jobs per transaction, and moves each thousand by
-- a few statements. Of what a walk meets, queue and kind come along where the table has them.

-- name: walk_batch
select 0::bigint, id, ''::text, ''::text from {prefix}jobs where batch_id = $1::bigint and batch_id > 0 and id > $2::bigint order by id limit $3::bigint;

-- name: walk_recurring
select 0::bigint, id, ''::text, ''::text from {prefix}jobs
where recurring_id = $1::text and recurring_id <> '' and id > $2::bigint order by id limit $3::bigint;

-- name: walk_ready
select rank::bigint as value, id, queue, kind from {prefix}ready
where (queue, rank, id) > ($1::text, $2::integer, $3::bigint) order by queue, rank, id limit $4::bigint;

-- name: walk_queue
select rank::bigint as value, id, queue, kind from {prefix}ready
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

-- The moves of waiting jobs to deleted. Rows are locked in the order of the list, which is that of the ids, so that two that act on the
-- same jobs wait instead of ending in a deadlock. A row that is not as it was read is left out, and its absence from the count makes the
-- transaction again. Rows are found by key and deleted by place, whatever the planner thinks of the tables: as joins with the list they
-- were read whole for a while after they had been empty.

-- name: delete_ready
with held as materialized (
    select t.place from unnest($3::text[], $4::integer[], $1::bigint[], $2::integer[]) e (queue, rank, id, flags) cross join lateral (
        select t.ctid as place from {prefix}ready t where t.queue = e.queue and t.rank = e.rank and t.id = e.id and t.flags = e.flags offset 0 for update of t
    ) t
), gone as (
    delete from {prefix}ready where ctid = any(array(select place from held))
    returning id, run_at, attempted_at, flags, claim, attempt, server
)
insert into {prefix}done (id, run_at, attempted_at, finished_at, flags, claim, attempt, state, server)
select id, run_at, attempted_at, $5::bigint, flags, claim, attempt, 2, server from gone;

-- name: delete_scheduled
with held as materialized (
    select t.place from unnest($1::bigint[], $2::integer[]) e (id, flags) cross join lateral (
        select t.ctid as place from {prefix}scheduled t where t.id = e.id and t.flags = e.flags offset 0 for update of t
    ) t
), gone as (
    delete from {prefix}scheduled where ctid = any(array(select place from held))
    returning id, run_at, attempted_at, flags, claim, attempt, server
)
insert into {prefix}done (id, run_at, attempted_at, finished_at, flags, claim, attempt, state, server)
select id, run_at, attempted_at, $3::bigint, flags & ~$4::integer, claim, attempt, 2, server from gone;

-- name: delete_throttled
with held as materialized (
    select t.place from unnest($1::bigint[], $2::integer[]) e (id, flags) cross join lateral (
        select t.ctid as place from {prefix}throttled t where t.id = e.id and t.flags = e.flags offset 0 for update of t
    ) t
), gone as (
    delete from {prefix}throttled where ctid = any(array(select place from held))
    returning id, run_at, attempted_at, flags, claim, attempt, server
)
insert into {prefix}done (id, run_at, attempted_at, finished_at, flags, claim, attempt, state, server)
select id, run_at, attempted_at, $3::bigint, flags & ~$4::integer, claim, attempt, 2, server from gone;

-- name: delete_awaiting
with held as materialized (
    select t.place from unnest($1::bigint[], $2::integer[]) e (id, flags) cross join lateral (
        select t.ctid as place from {prefix}awaiting t where t.id = e.id and t.flags = e.flags offset 0 for update of t
    ) t
), gone as (
    delete from {prefix}awaiting where ctid = any(array(select place from held))
    returning id, run_at, flags
)
insert into {prefix}done (id, run_at, finished_at, flags, claim, attempt, state)
select id, run_at, $3::bigint, flags, 0, 0, 2 from gone;

-- name: delete_failed
with held as materialized (
    select t.place from unnest($1::bigint[], $2::integer[]) e (id, flags) cross join lateral (
        select t.ctid as place from {prefix}failed t where t.id = e.id and t.flags = e.flags offset 0 for update of t
    ) t
), gone as (
    delete from {prefix}failed where ctid = any(array(select place from held))
    returning id, run_at, attempted_at, flags, claim, attempt, server
)
insert into {prefix}done (id, run_at, attempted_at, finished_at, flags, claim, attempt, state, server)
select id, run_at, attempted_at, $3::bigint, flags, claim, attempt, 2, server from gone;

-- The moves of jobs back to their queues: those with a limit wait for admission, the others are ready. Each returns how many moved.

-- name: requeue_scheduled
with held as materialized (
    select t.place from unnest($1::bigint[], $2::integer[]) e (id, flags) cross join lateral (
        select t.ctid as place from {prefix}scheduled t where t.id = e.id and t.flags = e.flags offset 0 for update of t
    ) t
), gone as (
    delete from {prefix}scheduled where ctid = any(array(select place from held))
    returning id, attempted_at, flags & ~$4::integer as flags, claim, attempt, server
), back as (
    select g.id, g.attempted_at, g.flags, g.claim, g.attempt, g.server, -j.priority::integer as rank, j.queue, j.kind, j.limit_key
    from gone g cross join lateral (select priority, queue, kind, limit_key from {prefix}jobs j where j.id = g.id offset 0) j
), queued as (
    insert into {prefix}ready (id, run_at, attempted_at, flags, claim, attempt, rank, queue, kind, server)
    select id, $3::bigint, attempted_at, flags, claim, attempt, rank, queue, kind, server from back where flags & $5::integer = 0
    returning 1
), throttled as (
    insert into {prefix}throttled (id, run_at, attempted_at, flags, claim, attempt, rank, limit_key, queue, kind, server)
    select id, $3::bigint, attempted_at, flags, claim, attempt, rank, limit_key, queue, kind, server from back where flags & $5::integer <> 0
    returning 1
)
select (select count(*) from queued) + (select count(*) from throttled);

-- name: requeue_failed
with held as materialized (
    select t.place from unnest($1::bigint[], $2::integer[]) e (id, flags) cross join lateral (
        select t.ctid as place from {prefix}failed t where t.id = e.id and t.flags = e.flags offset 0 for update of t
    ) t
), gone as (
    delete from {prefix}failed where ctid = any(array(select place from held))
    returning id, attempted_at, flags & ~$4::integer as flags, claim, 0 as attempt, server
), back as (
    select g.id, g.attempted_at, g.flags, g.claim, g.attempt, g.server, -j.priority::integer as rank, j.queue, j.kind, j.limit_key
    from gone g cross join lateral (select priority, queue, kind, limit_key from {prefix}jobs j where j.id = g.id offset 0) j
), queued as (
    insert into {prefix}ready (id, run_at, attempted_at, flags, claim, attempt, rank, queue, kind, server)
    select id, $3::bigint, attempted_at, flags, claim, attempt, rank, queue, kind, server from back where flags & $5::integer = 0
    returning 1
), throttled as (
    insert into {prefix}throttled (id, run_at, attempted_at, flags, claim, attempt, rank, limit_key, queue, kind, server)
    select id, $3::bigint, attempted_at, flags, claim, attempt, rank, limit_key, queue, kind, server from back where flags & $5::integer <> 0
    returning 1
)
select (select count(*) from queued) + (select count(*) from throttled);

-- name: requeue_done
with held as materialized (
    select t.place from unnest($1::bigint[], $2::integer[]) e (id, flags) cross join lateral (
        select t.ctid as place from {prefix}done t where t.id = e.id and t.flags = e.flags and t.state = $6::smallint offset 0 for update of t
    ) t
), gone as (
    delete from {prefix}done where ctid = any(array(select place from held))
    returning id, attempted_at, flags & ~$4::integer as flags, claim, 0 as attempt, server
), back as (
    select g.id, g.attempted_at, g.flags, g.claim, g.attempt, g.server, -j.priority::integer as rank, j.queue, j.kind, j.limit_key
    from gone g cross join lateral (select priority, queue, kind, limit_key from {prefix}jobs j where j.id = g.id offset 0) j
), queued as (
    insert into {prefix}ready (id, run_at, attempted_at, flags, claim, attempt, rank, queue, kind, server)
    select id, $3::bigint, attempted_at, flags, claim, attempt, rank, queue, kind, server from back where flags & $5::integer = 0
    returning 1
), throttled as (
    insert into {prefix}throttled (id, run_at, attempted_at, flags, claim, attempt, rank, limit_key, queue, kind, server)
    select id, $3::bigint, attempted_at, flags, claim, attempt, rank, limit_key, queue, kind, server from back where flags & $5::integer <> 0
    returning 1
)
select (select count(*) from queued) + (select count(*) from throttled);

-- name: requeue_attempts
-- A scheduled job that comes back early may run once more, whatever was allowed.
update {prefix}jobs set max_attempts = $2::integer where id = any($1::bigint[]) and max_attempts < $2::integer;

-- name: requeue_outputs
delete from {prefix}outputs where id = any($1::bigint[]);

-- name: requeue_deadlines
-- A job that waits again ends at its deadline again.
insert into {prefix}deadlines (deadline, id) select deadline, id from {prefix}jobs where id = any($1::bigint[]) and deadline is not null;

-- name: delete_deadlines
-- Of jobs whose state rows are ours: nobody gives them another deadline meanwhile.
delete from {prefix}deadlines where ctid = any(array(
    select d.place from unnest($1::bigint[]) e (id)
    cross join lateral (select j.deadline from {prefix}jobs j where j.id = e.id offset 0) j
    cross join lateral (select d.ctid as place from {prefix}deadlines d where d.deadline = j.deadline and d.id = e.id offset 0) d));

-- name: queue_pause
insert into {prefix}queues (name, paused_at) values ($1::text, $2::bigint) on conflict (name) do nothing;

-- name: queue_resume
delete from {prefix}queues where name = $1::text;
