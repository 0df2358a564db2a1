-- One job's way from state to state: where it is, out of the table of its state, into the one of the next. Zero and empty stand for
-- columns that it does not have.

-- name: locate_all
-- Where jobs stand, by id. The lateral parts are read by key whatever the planner thinks of the tables.
select j.id, j.queue, j.kind, j.priority, coalesce(j.deadline, 0), coalesce(j.batch_id, 0), coalesce(j.recurring_id, ''),
    coalesce(j.limit_key, ''), coalesce(j.tags, ''), coalesce(s.state, ''), coalesce(s.flags, 0), coalesce(s.claim, 0), coalesce(s.attempt, 0),
    coalesce(s.run_at, 0), coalesce(s.attempted_at, 0), coalesce(s.server, ''), coalesce(s.cancel, false)
from unnest($1::bigint[]) e (id)
cross join lateral (
    select id, queue, kind, priority, deadline, batch_id, recurring_id, limit_key, tags from {prefix}jobs j where j.id = e.id offset 0
) j
left join lateral (
    select 'enqueued' as state, flags, claim, attempt, run_at, attempted_at, server, false as cancel
    from {prefix}ready r where r.queue = j.queue and r.rank = -j.priority::integer and r.id = j.id
    union all
    select 'processing', flags, claim, attempt, run_at, attempted_at, server, cancel from {prefix}lease l where l.id = j.id
    union all
    select 'scheduled', flags, claim, attempt, run_at, attempted_at, server, false from {prefix}scheduled s where s.id = j.id
    union all
    select 'throttled', flags, claim, attempt, run_at, attempted_at, server, false from {prefix}throttled t where t.id = j.id
    union all
    select 'awaiting', flags, 0, 0, run_at, null, null, false from {prefix}awaiting a where a.id = j.id
    union all
    select 'failed', flags, claim, attempt, run_at, attempted_at, server, false from {prefix}failed f where f.id = j.id
    union all
    select case state when 1 then 'succeeded' else 'deleted' end, flags, claim, attempt, run_at, attempted_at, server, false
    from {prefix}done d where d.id = j.id
    offset 0
) s on true
order by j.id;

-- name: ready_put
insert into {prefix}ready (queue, kind, rank, id, flags, claim, attempt, run_at, attempted_at, server)
values ($1, $2, $3, $4, $5, $6, $7, $8, nullif($9::bigint, 0), nullif($10::text, ''));

-- name: ready_drop
delete from {prefix}ready where queue = $4 and rank = $5 and id = $1 and flags = $2 and claim = $3;

-- name: lease_drop
delete from {prefix}lease where id = $1 and flags = $2 and claim = $3;

-- name: scheduled_put
insert into {prefix}scheduled (queue, kind, rank, id, flags, claim, attempt, run_at, attempted_at, server)
values ($1, $2, $3, $4, $5, $6, $7, $8, nullif($9::bigint, 0), nullif($10::text, ''));

-- name: scheduled_drop
delete from {prefix}scheduled where id = $1 and flags = $2 and claim = $3;

-- name: throttled_put
insert into {prefix}throttled (queue, kind, rank, id, flags, claim, attempt, run_at, attempted_at, server, limit_key)
values ($1, $2, $3, $4, $5, $6, $7, $8, nullif($9::bigint, 0), nullif($10::text, ''), $11);

-- name: throttled_drop
delete from {prefix}throttled where id = $1 and flags = $2 and claim = $3;

-- name: awaiting_drop
delete from {prefix}awaiting where id = $1 and flags = $2;

-- name: failed_put
insert into {prefix}failed (queue, kind, id, flags, claim, attempt, run_at, attempted_at, server, finished_at)
values ($1, $2, $3, $4, $5, $6, $7, nullif($8::bigint, 0), nullif($9::text, ''), $10);

-- name: failed_drop
delete from {prefix}failed where id = $1 and flags = $2 and claim = $3;

-- name: done_put
insert into {prefix}done (state, id, flags, claim, attempt, run_at, attempted_at, server, finished_at)
values ($1, $2, $3, $4, $5, $6, nullif($7::bigint, 0), nullif($8::text, ''), $9);

-- name: done_drop
delete from {prefix}done where id = $1 and flags = $2 and claim = $3 and state = $4;
