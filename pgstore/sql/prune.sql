-- Retention goes in the order of the ends, by index, and deletes by id. Rows that somebody has at the moment stay for a later call.

-- name: prune_done
select id, flags from {prefix}done where state = $1::smallint and finished_at <= $2::bigint
order by finished_at, id limit $3::bigint for update skip locked;

-- name: prune_failed
select id, flags from {prefix}failed where finished_at <= $1::bigint order by finished_at, id limit $2::bigint for update skip locked;

-- name: prune_done_rows
delete from {prefix}done where id = any($1::bigint[]);

-- name: prune_failed_rows
delete from {prefix}failed where id = any($1::bigint[]);

-- name: prune_jobs
delete from {prefix}jobs where id = any($1::bigint[]);

-- name: prune_metas
delete from {prefix}metas where id = any($1::bigint[]);

-- name: prune_outputs
delete from {prefix}outputs where id = any($1::bigint[]);

-- name: prune_history
delete from {prefix}history where id = any($1::bigint[]);

-- name: prune_console
delete from {prefix}console where id = any($1::bigint[]);

-- name: prune_progress
delete from {prefix}progress where id = any($1::bigint[]);

-- name: prune_servers
-- Not while a lease has run out or is new: when the clock has jumped ahead, all servers look silent until they write again, and
-- the jobs of one without a row are given to others at once.
delete from {prefix}servers where id = any(array(
    select id from {prefix}servers where heartbeat_at <= $1::bigint order by id limit $2::bigint for update skip locked))
and heartbeat_at <= $1::bigint and not exists (select 1 from {prefix}leaders where expires_at <= $3::bigint or acquired_at > $4::bigint);

-- name: prune_stats
-- Totals hold all that was ever counted, so that minutes can go.
delete from {prefix}stats where ctid = any(array(
    select ctid from {prefix}stats where minute < $1::bigint order by minute, server limit $2::bigint for update skip locked));
