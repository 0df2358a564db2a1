-- An operator's action on a whole state walks an index from place to place, some hundred jobs per transaction.

-- name: walk_batch
select 0, id from {prefix}jobs where batch_id = ?1 and batch_id > 0 and id > ?2 order by id limit ?3;

-- name: walk_recurring
select 0, id from {prefix}jobs where recurring_id = ?1 and recurring_id <> '' and id > ?2 order by id limit ?3;

-- name: walk_next_lane
select queue, kind from {prefix}ready where (queue, kind) > (?1, ?2) order by queue, kind limit 1;

-- name: walk_lane
select rank, id from {prefix}ready where queue = ?1 and kind = ?2 and (rank, id) > (?3, ?4) order by rank, id limit ?5;

-- name: walk_processing
select 0, id from {prefix}lease where id > ?1 order by id limit ?2;

-- name: walk_scheduled
select 0, id from {prefix}scheduled where id > ?1 order by id limit ?2;

-- name: walk_throttled
select 0, id from {prefix}throttled where id > ?1 order by id limit ?2;

-- name: walk_awaiting
select 0, id from {prefix}awaiting where id > ?1 order by id limit ?2;

-- name: walk_failed
select 0, id from {prefix}failed where id > ?1 order by id limit ?2;

-- name: walk_done
select * from (
    select finished_at, id from {prefix}done where state = ?1 and finished_at = ?2 and id > ?3 and finished_at <= ?4 order by id limit ?5)
union all
select * from (
    select finished_at, id from {prefix}done where state = ?1 and finished_at > ?2 and finished_at <= ?4 order by finished_at, id limit ?5)
order by 1, 2 limit ?5;

-- name: queue_pause
insert into {prefix}queues (name, paused_at) values (?, ?) on conflict (name) do nothing;

-- name: queue_resume
delete from {prefix}queues where name = ?;
