-- name: promote_read
select id, run_at, queue, flags from {prefix}scheduled where run_at <= ?1 order by run_at, id limit ?2;

-- name: promote_ready
-- Due jobs without a limit move as one range.
insert into {prefix}ready (queue, kind, rank, id, flags, claim, attempt, run_at, attempted_at, server)
select queue, kind, rank, id, flags, claim, attempt, run_at, attempted_at, server
from {prefix}scheduled where (run_at, id) <= (?1, ?2);

-- name: promote_take
delete from {prefix}scheduled where (run_at, id) <= (?1, ?2);

-- name: promote_next
select coalesce(min(run_at), 0) from {prefix}scheduled;

-- name: deadlines_passed
select id from {prefix}deadlines where deadline <= ?1 order by deadline, id limit ?2;

-- name: deadlines_next
select coalesce(min(deadline), 0) from {prefix}deadlines;
