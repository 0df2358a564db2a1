-- name: promote_read
select id, run_at, queue, flags from {prefix}scheduled where run_at <= ?1 order by run_at, id limit ?2;

-- name: promote_ready
-- Due jobs without a limit move as one range. The pair (run_at, id) is written as two conditions, each an index seek of its own:
-- as a pair SQLite would seek by run_at alone and walk over all jobs that are due at the same instant.
insert into {prefix}ready (queue, kind, rank, id, flags, claim, attempt, run_at, attempted_at, server)
select queue, kind, rank, id, flags, claim, attempt, run_at, attempted_at, server
from {prefix}scheduled where (run_at < ?1 or run_at = ?1 and id <= ?2) and flags & ?3 = 0;

-- name: promote_throttled
insert into {prefix}throttled (queue, kind, rank, id, flags, claim, attempt, run_at, attempted_at, server, limit_key)
select s.queue, s.kind, s.rank, s.id, s.flags, s.claim, s.attempt, s.run_at, s.attempted_at, s.server, j.limit_key
from {prefix}scheduled s cross join {prefix}jobs j on j.id = s.id
where (s.run_at < ?1 or s.run_at = ?1 and s.id <= ?2) and s.flags & ?3 <> 0;

-- name: promote_members
-- How many of the jobs belong to which batches: those without a limit, and those with one.
select j.batch_id, count(*) from json_each(?1) e cross join {prefix}jobs j on j.id = e.value
where j.batch_id > 0 and j.limit_key = '' group by j.batch_id;

-- name: promote_members_limited
select j.batch_id, count(*) from json_each(?1) e cross join {prefix}jobs j on j.id = e.value
where j.batch_id > 0 and +j.limit_key <> '' group by j.batch_id;

-- name: promote_keys
-- The limit keys of due jobs, each with how many of these have a reserved start.
select j.limit_key, sum(s.flags & ?4 <> 0) from {prefix}scheduled s cross join {prefix}jobs j on j.id = s.id
where (s.run_at < ?1 or s.run_at = ?1 and s.id <= ?2) and s.flags & ?3 <> 0 group by j.limit_key;

-- name: promote_take
delete from {prefix}scheduled where run_at < ?1 or run_at = ?1 and id <= ?2;

-- name: promote_next
select coalesce(min(run_at), 0) from {prefix}scheduled;

-- name: deadlines_passed
select id from {prefix}deadlines where deadline <= ?1 order by deadline, id limit ?2;

-- name: deadlines_next
select coalesce(min(deadline), 0) from {prefix}deadlines;
