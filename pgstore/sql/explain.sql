-- Why a job is where it is: its row, and beside that what it waits for in its state: five to eight milliseconds on a store of a million jobs (bench -pages).

-- name: explain_job
select j.queue, j.kind, -j.priority::integer, coalesce(j.after_batch, 0), coalesce(j.limit_key, ''),
    coalesce(s.run_at, 0), coalesce(s.flags, 0), coalesce(s.server, ''), coalesce(s.state, '')
from {prefix}jobs j
left join lateral (
    select 'enqueued' as state, run_at, flags, server from {prefix}ready r where r.queue = j.queue and r.rank = -j.priority::integer and r.id = j.id
    union all select 'processing', run_at, flags, server from {prefix}lease l where l.id = j.id
    union all select 'scheduled', run_at, flags, server from {prefix}scheduled s where s.id = j.id
    union all select 'throttled', run_at, flags, server from {prefix}throttled t where t.id = j.id
    union all select 'awaiting', run_at, flags, null from {prefix}awaiting a where a.id = j.id
    union all select 'failed', run_at, flags, server from {prefix}failed f where f.id = j.id
    union all select case state when 1 then 'succeeded' else 'deleted' end, run_at, flags, server from {prefix}done d where d.id = j.id
    offset 0
) s on true
where j.id = $1::bigint;

-- name: explain_parents
select j.id, j.kind, coalesce(j.title, ''), p.mask, coalesce(s.state, '')
from (
    select parent, mask from (select parent, mask from {prefix}deps d where d.child = $1::bigint and d.open offset 0) d order by parent limit $2::bigint
) p
cross join lateral (select id, queue, kind, title, priority from {prefix}jobs j where j.id = p.parent offset 0) j
left join lateral (
    select 'enqueued' as state from {prefix}ready r where r.queue = j.queue and r.rank = -j.priority::integer and r.id = j.id
    union all select 'processing' from {prefix}lease l where l.id = j.id
    union all select 'scheduled' from {prefix}scheduled s where s.id = j.id
    union all select 'throttled' from {prefix}throttled t where t.id = j.id
    union all select 'awaiting' from {prefix}awaiting a where a.id = j.id
    union all select 'failed' from {prefix}failed f where f.id = j.id
    union all select case state when 1 then 'succeeded' else 'deleted' end from {prefix}done d where d.id = j.id
    offset 0
) s on true
order by j.id;

-- name: explain_open
select count(*) from {prefix}deps where child = $1::bigint and open;

-- name: explain_turn
-- Those that are admitted before a throttled job, up to a number, and how many of them have a reserved start. The order is that of one
-- index alone, here and below.
select count(*), count(*) filter (where flags & $5::integer <> 0) from (
    select flags from {prefix}throttled
    where limit_key >= $1::text and (limit_key, rank, id) < ($1::text, $2::integer, $3::bigint) order by limit_key, rank, id limit $4::bigint) t;

-- name: explain_ahead
-- Those that are claimed before an enqueued job, up to a number.
select count(*) from (
    select 1 from {prefix}ready
    where queue >= $1::text and (queue, rank, id) < ($1::text, $2::integer, $3::bigint) order by queue, rank, id limit $4::bigint) r;

-- name: explain_limit
select l.max, l.rate, l.per, l.burst, l.active, l.reserved, l.tat, l.admit_tat,
    (select count(*) from (select 1 from {prefix}throttled t where t.limit_key = l.limit_key limit $2::bigint) x)
from {prefix}limits l where l.limit_key = $1::text;

-- name: explain_pause
select paused_at from {prefix}queues where name = $1::text;

-- name: explain_heartbeat
select heartbeat_at from {prefix}servers where id = $1::text;
