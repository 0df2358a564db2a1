-- name: prune_done
select id, flags from {prefix}done where state = ?1 and finished_at <= ?2 order by finished_at, id limit ?3;

-- name: prune_failed
select id, flags from {prefix}failed where finished_at <= ?1 order by finished_at, id limit ?2;

-- name: prune_done_rows
delete from {prefix}done where id in (select value from json_each(?1));

-- name: prune_failed_rows
delete from {prefix}failed where id in (select value from json_each(?1));

-- name: prune_jobs
delete from {prefix}jobs where id in (select value from json_each(?1));

-- name: prune_metas
delete from {prefix}metas where id in (select value from json_each(?1));

-- name: prune_outputs
delete from {prefix}outputs where id in (select value from json_each(?1));

-- name: prune_history
delete from {prefix}history where id in (select value from json_each(?1));

-- name: prune_console
delete from {prefix}console where id in (select value from json_each(?1));

-- name: prune_progress
delete from {prefix}progress where id in (select value from json_each(?1));

-- name: prune_servers
-- Not while a lease has run out or is new: when the clock has jumped ahead, all servers look silent until they write again, and
-- the jobs of one without a row are given to others at once.
delete from {prefix}servers where id in (select id from {prefix}servers where heartbeat_at <= ?1 order by id limit ?2)
and not exists (select 1 from {prefix}leaders where expires_at <= ?3 or acquired_at > ?4);

-- name: prune_stats
-- Totals hold all that was ever counted, so that minutes can go.
delete from {prefix}stats where (minute, server) in (
    select minute, server from {prefix}stats where minute < ?1 order by minute, server limit ?2);
