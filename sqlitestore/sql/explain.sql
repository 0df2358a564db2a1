-- Why a job is where it is: its row, and beside that what it waits for in its state: one to two milliseconds on a store of a million jobs (bench -pages).

-- name: explain_job
select j.queue, j.kind, -j.priority, j.after_batch, j.limit_key, coalesce(s.run_at, 0), coalesce(t.flags, 0), coalesce(l.server, ''),
    case when r.id is not null then 'enqueued' when l.id is not null then 'processing'
        when s.id is not null then 'scheduled' when t.id is not null then 'throttled'
        when a.id is not null then 'awaiting' when f.id is not null then 'failed'
        when d.state = 1 then 'succeeded' when d.state = 2 then 'deleted' else '' end
from {prefix}jobs j
left join {prefix}ready r on r.queue = j.queue and r.kind = j.kind and r.rank = -j.priority and r.id = j.id
left join {prefix}lease l on l.id = j.id
left join {prefix}scheduled s on s.id = j.id
left join {prefix}throttled t on t.id = j.id
left join {prefix}awaiting a on a.id = j.id
left join {prefix}failed f on f.id = j.id
left join {prefix}done d on d.id = j.id
where j.id = ?;

-- name: explain_parents
select j.id, j.kind, j.title, p.mask,
    case when r.id is not null then 'enqueued' when l.id is not null then 'processing'
        when s.id is not null then 'scheduled' when t.id is not null then 'throttled'
        when a.id is not null then 'awaiting' when f.id is not null then 'failed'
        when d.state = 1 then 'succeeded' when d.state = 2 then 'deleted' else '' end
from (select parent, mask from {prefix}deps where child = ?1 and open = 1 order by parent limit ?2) p
cross join {prefix}jobs j on j.id = p.parent
left join {prefix}ready r on r.queue = j.queue and r.kind = j.kind and r.rank = -j.priority and r.id = j.id
left join {prefix}lease l on l.id = j.id
left join {prefix}scheduled s on s.id = j.id
left join {prefix}throttled t on t.id = j.id
left join {prefix}awaiting a on a.id = j.id
left join {prefix}failed f on f.id = j.id
left join {prefix}done d on d.id = j.id
order by j.id;

-- name: explain_open
select count(*) from {prefix}deps where child = ?1 and open = 1;

-- name: explain_turn
-- Those that are admitted before a throttled job, up to a number, and how many of them have a reserved start.
select count(*), coalesce(sum(flags & ?5 <> 0), 0) from (
    select flags from {prefix}throttled where limit_key = ?1 and rank < ?2
    union all select flags from {prefix}throttled where limit_key = ?1 and rank = ?2 and id < ?3
    limit ?4);

-- name: explain_ahead
-- Those that are claimed before an enqueued job, up to a number: of each kind in its queue what is more urgent, and what is as urgent
-- and older.
with recursive k (kind) as (
    select (select kind from {prefix}ready where queue = ?1 order by kind limit 1)
    union all select (select r.kind from {prefix}ready r where r.queue = ?1 and r.kind > k.kind order by r.kind limit 1) from k where k.kind is not null
    limit ?5
)
select count(*) from (
    select 1 from k cross join {prefix}ready r on r.queue = ?1 and r.kind = k.kind and r.rank < ?2
    union all select 1 from k cross join {prefix}ready r on r.queue = ?1 and r.kind = k.kind and r.rank = ?2 and r.id < ?3
    limit ?4);

-- name: explain_limit
select l.max, l.rate, l.per, l.burst, l.active, l.reserved, l.tat, l.admit_tat,
    (select count(*) from (select 1 from {prefix}throttled t where t.limit_key = l.limit_key limit ?2))
from {prefix}limits l where l.limit_key = ?1;

-- name: explain_pause
select paused_at from {prefix}queues where name = ?;

-- name: explain_heartbeat
select heartbeat_at from {prefix}servers where id = ?;
