-- Signals tell other processes what became ready, scheduled, cancelled or paused. Writes that nobody waits for, such as
-- heartbeats, add none, so that idle processes leave each other alone.

-- name: signals_add
insert into {prefix}signals (origin, event, queue, job) values (?, ?, ?, ?);

-- name: signals_last
select coalesce(max(seq), 0) from {prefix}signals;

-- name: signals_since
select seq, origin, event, queue, job from {prefix}signals where seq > ? order by seq limit 10000;

-- name: signals_trim
delete from {prefix}signals where seq <= ?;
