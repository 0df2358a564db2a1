-- Other processes see new jobs by their ids. Signals tell them what they cannot see so: jobs that came back, cancelled ones,
-- pauses. Writes that nobody waits for, such as heartbeats, add none, so that idle processes leave each other alone.

-- name: signals_add
insert into {prefix}signals (origin, event, queue, job) values (?, ?, ?, ?);

-- name: signals_trim
delete from {prefix}signals where seq <= ?;

-- name: watch_place
select (select coalesce(max(seq), 0) from {prefix}signals), (select coalesce(max(id), 0) from {prefix}jobs);

-- name: watch_jobs
select j.id, j.queue, s.id is not null
from {prefix}jobs j left join {prefix}scheduled s on s.id = j.id where j.id > ? order by j.id limit ?;

-- name: watch_queues
with recursive
ready (name) as (
    select (select queue from {prefix}ready where queue >= '' order by queue limit 1)
    union all select (select queue from {prefix}ready where queue > name order by queue limit 1) from ready where name is not null
),
scheduled (name) as (
    select (select queue from {prefix}scheduled where queue >= '' order by queue limit 1)
    union all select (select queue from {prefix}scheduled where queue > name order by queue limit 1) from scheduled where name is not null
)
select (select max(id) from {prefix}jobs), name, 0 from ready where name is not null
union all
select 0, name, 1 from scheduled where name is not null;

-- name: watch_signals
select seq, origin, event, queue, job from {prefix}signals where seq > ? order by seq limit 10000;
