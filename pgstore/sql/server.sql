-- name: server_put
-- The start stays as the first heartbeat gave it, or is stamped then.
insert into {prefix}servers (id, host, pid, version, queues, kinds, workers, running, started_at, heartbeat_at)
values ($1::text, $2::text, $3::bigint, $4::text, $5::text, $6::text, $7::integer, $8::integer, $9::bigint, $10::bigint)
on conflict (id) do update set host = excluded.host, pid = excluded.pid, version = excluded.version,
    queues = excluded.queues, kinds = excluded.kinds, workers = excluded.workers, running = excluded.running,
    heartbeat_at = excluded.heartbeat_at;

-- name: servers_back
-- The clock was set back since these servers wrote: those that live will write again, the others count as silent from now. Rows that
-- are locked are being written anew.
update {prefix}servers set heartbeat_at = $1::bigint where id = any(array(
    select id from {prefix}servers where heartbeat_at > $2::bigint for update skip locked));

-- name: server_leases
-- A scan of the jobs in process, here and below: they are few, and an index by server would cost every claim and every end.
select id, claim, cancel, attempted_at from {prefix}lease where server = $1::text order by id;

-- name: queues_paused
select name from {prefix}queues order by name;

-- name: server_drop
delete from {prefix}servers where id = $1::text;

-- name: orphans
select l.id, l.claim, j.kind, j.queue, l.attempt, j.max_attempts, l.server, l.cancel,
    coalesce((select h.reason from {prefix}history h where h.id = l.id order by h.seq desc limit 1), '')
from (
    select id, claim, attempt, server, cancel from {prefix}lease l
    where not exists (select 1 from {prefix}servers s where s.id = l.server and s.heartbeat_at > $1::bigint)
    order by id limit $2::bigint
) l cross join lateral (select kind, queue, max_attempts from {prefix}jobs j where j.id = l.id offset 0) j
order by l.id;

-- name: servers_list
select id, host, pid, version, queues, kinds, workers, running, started_at, heartbeat_at from {prefix}servers order by id;
