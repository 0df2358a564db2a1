-- One job's way from state to state: where it is, out of the table of its state, into the one of the next. Zero and empty stand for
-- columns that it does not have.

-- name: locate
select j.queue, j.kind, j.priority::integer, coalesce(j.deadline, 0), coalesce(j.batch_id, 0), coalesce(j.recurring_id, ''), coalesce(j.limit_key, ''),
    coalesce(j.tags, ''),
    case when r.id is not null then 'enqueued' when l.id is not null then 'processing'
        when s.id is not null then 'scheduled' when t.id is not null then 'throttled'
        when a.id is not null then 'awaiting' when f.id is not null then 'failed'
        when d.state = 1 then 'succeeded' when d.state = 2 then 'deleted' else '' end,
    coalesce(r.flags, l.flags, s.flags, t.flags, a.flags, f.flags, d.flags, 0),
    coalesce(r.claim, l.claim, s.claim, t.claim, f.claim, d.claim, 0),
    coalesce(r.attempt, l.attempt, s.attempt, t.attempt, f.attempt, d.attempt, 0),
    coalesce(r.run_at, l.run_at, s.run_at, t.run_at, a.run_at, f.run_at, d.run_at, 0),
    coalesce(r.attempted_at, l.attempted_at, s.attempted_at, t.attempted_at, f.attempted_at, d.attempted_at, 0),
    coalesce(r.server, l.server, s.server, t.server, f.server, d.server, ''),
    coalesce(l.cancel, false)
from {prefix}jobs j
left join {prefix}ready r on r.queue = j.queue and r.rank = -j.priority::integer and r.id = j.id
left join {prefix}lease l on l.id = j.id
left join {prefix}scheduled s on s.id = j.id
left join {prefix}throttled t on t.id = j.id
left join {prefix}awaiting a on a.id = j.id
left join {prefix}failed f on f.id = j.id
left join {prefix}done d on d.id = j.id
where j.id = $1;

-- name: ready_put
insert into {prefix}ready (queue, kind, rank, id, flags, claim, attempt, run_at, attempted_at, server)
values ($1, $2, $3, $4, $5, $6, $7, $8, nullif($9::bigint, 0), nullif($10::text, ''));

-- name: ready_drop
-- With the flags that were read: somebody may have taken the row out and put it back with others, which would be lost.
delete from {prefix}ready where queue = $1 and rank = $2 and id = $3 and flags = $4;

-- name: lease_drop
delete from {prefix}lease where id = $1 and flags = $2;

-- name: lease_cancel
update {prefix}lease set cancel = true where id = $1 and not cancel;

-- name: scheduled_put
insert into {prefix}scheduled (queue, kind, rank, id, flags, claim, attempt, run_at, attempted_at, server)
values ($1, $2, $3, $4, $5, $6, $7, $8, nullif($9::bigint, 0), nullif($10::text, ''));

-- name: scheduled_drop
delete from {prefix}scheduled where id = $1 and flags = $2;

-- name: throttled_put
insert into {prefix}throttled (queue, kind, rank, id, flags, claim, attempt, run_at, attempted_at, server, limit_key)
values ($1, $2, $3, $4, $5, $6, $7, $8, nullif($9::bigint, 0), nullif($10::text, ''), $11);

-- name: throttled_drop
delete from {prefix}throttled where id = $1 and flags = $2;

-- name: awaiting_drop
delete from {prefix}awaiting where id = $1 and flags = $2;

-- name: failed_put
insert into {prefix}failed (queue, kind, id, flags, claim, attempt, run_at, attempted_at, server, finished_at)
values ($1, $2, $3, $4, $5, $6, $7, nullif($8::bigint, 0), nullif($9::text, ''), $10);

-- name: failed_drop
delete from {prefix}failed where id = $1 and flags = $2;

-- name: done_put
insert into {prefix}done (state, id, flags, claim, attempt, run_at, attempted_at, server, finished_at)
values ($1, $2, $3, $4, $5, $6, nullif($7::bigint, 0), nullif($8::text, ''), $9);

-- name: done_drop
delete from {prefix}done where id = $1 and flags = $2 and state = $3;

-- name: attempts_raise
update {prefix}jobs set max_attempts = $2 where id = $1 and max_attempts < $2;
