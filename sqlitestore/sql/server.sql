-- name: server_put
-- The start stays as the first heartbeat gave it, or is stamped then.
insert into {prefix}servers (id, host, pid, version, queues, kinds, workers, running, started_at, heartbeat_at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (id) do update set host = excluded.host, pid = excluded.pid, version = excluded.version,
    queues = excluded.queues, kinds = excluded.kinds, workers = excluded.workers, running = excluded.running,
    heartbeat_at = excluded.heartbeat_at;

-- name: servers_back
-- The clock was set back since these servers wrote: those that live will write again, the others count as silent from now.
update {prefix}servers set heartbeat_at = ?1 where heartbeat_at > ?2;

-- name: server_leases
select id, claim, cancel, attempted_at from {prefix}lease where server = ? order by id;

-- name: queues_paused
select name from {prefix}queues order by name;

-- name: server_drop
delete from {prefix}servers where id = ?;

-- name: orphans
-- A scan of the jobs in process: they are few, and an index by server would cost every claim and every end.
select l.id, l.claim, l.kind, l.queue, l.attempt, j.max_attempts, l.server, l.cancel,
    coalesce((select h.reason from {prefix}history h where h.id = l.id order by h.seq desc limit 1), '')
from {prefix}lease l cross join {prefix}jobs j on j.id = l.id
where not exists (select 1 from {prefix}servers s where s.id = l.server and s.heartbeat_at > ?1)
order by l.id limit ?2;

-- name: servers_list
select id, host, pid, version, queues, kinds, workers, running, started_at, heartbeat_at from {prefix}servers order by id;
