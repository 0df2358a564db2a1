-- One job's way from state to state: where it is, out of the table of its state, into the one of the next.

-- name: locate
select j.queue, j.kind, j.priority, j.deadline, j.batch_id, j.recurring_id, j.limit_key, j.tags,
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
    coalesce(l.cancel, 0)
from {prefix}jobs j
left join {prefix}ready r on r.queue = j.queue and r.kind = j.kind and r.rank = -j.priority and r.id = j.id
left join {prefix}lease l on l.id = j.id
left join {prefix}scheduled s on s.id = j.id
left join {prefix}throttled t on t.id = j.id
left join {prefix}awaiting a on a.id = j.id
left join {prefix}failed f on f.id = j.id
left join {prefix}done d on d.id = j.id
where j.id = ?;

-- name: ready_put
insert into {prefix}ready (queue, kind, rank, id, flags, claim, attempt, run_at, attempted_at, server)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: ready_drop
delete from {prefix}ready where queue = ? and kind = ? and rank = ? and id = ?;

-- name: lease_drop
delete from {prefix}lease where id = ?;

-- name: lease_cancel
update {prefix}lease set cancel = 1 where id = ? and cancel = 0;

-- name: scheduled_put
insert into {prefix}scheduled (queue, kind, rank, id, flags, claim, attempt, run_at, attempted_at, server)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: scheduled_drop
delete from {prefix}scheduled where id = ?;

-- name: throttled_put
insert into {prefix}throttled (queue, kind, rank, id, flags, claim, attempt, run_at, attempted_at, server, limit_key)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: throttled_drop
delete from {prefix}throttled where id = ?;

-- name: awaiting_drop
delete from {prefix}awaiting where id = ?;

-- name: failed_put
insert into {prefix}failed (queue, kind, id, flags, claim, attempt, run_at, attempted_at, server, finished_at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: failed_drop
delete from {prefix}failed where id = ?;

-- name: done_put
insert into {prefix}done (state, id, flags, claim, attempt, run_at, attempted_at, server, finished_at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: done_drop
delete from {prefix}done where id = ?;

-- name: attempts_raise
update {prefix}jobs set max_attempts = ?2 where id = ?1 and max_attempts < ?2;
