-- Limits. A call notes which keys it touched and looks at all of them once, at its end, with the rows of the keys locked: jobs that
-- come to a key, slots that get free and admission never miss each other.

-- name: limits_lock
select limit_key from {prefix}limits where limit_key = any($1::text[]) order by limit_key for update;

-- name: limits_rule
-- The latest insert sets the rule. The row is locked also where that says what is there already.
insert into {prefix}limits (limit_key, max, rate, per, burst, active, reserved, tat, admit_tat, marked, unused)
select e.key, e.max, e.rate, e.per, e.burst, 0, 0, 0, 0, false, false
from unnest($1::text[], $2::integer[], $3::integer[], $4::bigint[], $5::integer[]) e (key, max, rate, per, burst) order by e.key collate "C"
on conflict (limit_key) do update set max = excluded.max, rate = excluded.rate, per = excluded.per, burst = excluded.burst, unused = false
where {prefix}limits.max <> excluded.max or {prefix}limits.rate <> excluded.rate or {prefix}limits.per <> excluded.per
    or {prefix}limits.burst <> excluded.burst or {prefix}limits.unused;

-- name: limits_waiting
-- Of the given keys those with waiting jobs or a mark, and whether more than Max counts for them.
select e.i - 1, l.max, l.active, l.rate > 0 or l.marked
from unnest($1::text[]) with ordinality e (key, i) join {prefix}limits l on l.limit_key = e.key
where l.marked or (select 1 from {prefix}throttled t where t.limit_key = l.limit_key limit 1) is not null;

-- name: limits_clocks_of
select rate, per, burst, tat, admit_tat, marked from {prefix}limits where limit_key = $1;

-- name: limits_room
-- The room of those of the given keys that have no rate and no waiting jobs.
select e.i - 1, l.max - l.active
from unnest($1::text[]) with ordinality e (key, i) join {prefix}limits l on l.limit_key = e.key
where l.rate = 0 and not l.marked and (select 1 from {prefix}throttled t where t.limit_key = l.limit_key limit 1) is null;

-- name: limits_shift
update {prefix}limits l set active = l.active + e.active, reserved = l.reserved + e.reserved
from unnest($1::text[], $2::bigint[], $3::bigint[]) e (key, active, reserved) where l.limit_key = e.key;

-- name: limits_clocks
update {prefix}limits l set tat = e.tat, admit_tat = e.admit, marked = e.marked
from unnest($1::text[], $2::bigint[], $3::bigint[], $4::boolean[]) e (key, tat, admit, marked) where l.limit_key = e.key;

-- name: limits_marked
select limit_key from {prefix}limits where marked order by limit_key limit $1;

-- name: limits_turn
-- The waiting jobs of one key in the order of admission.
-- The key is a range, so that no index fits but that of turns.
select id, queue, rank, flags from {prefix}throttled where limit_key >= $1 and limit_key <= $1 order by limit_key, rank, id limit $2;

-- name: limits_heads
-- The first waiting jobs of several keys, as many of each.
select e.i - 1, t.id, t.queue, t.rank, t.flags from unnest($1::text[]) with ordinality e (key, i) cross join lateral (
    select h.id, h.queue, h.rank, h.flags from {prefix}throttled h
    where h.limit_key >= e.key and h.limit_key <= e.key order by h.limit_key, h.rank, h.id limit $2) t;

-- name: limits_start
with x as (
    delete from {prefix}throttled where id = any($1::bigint[])
    returning id, run_at, attempted_at, flags, claim, attempt, rank, queue, kind, server
)
insert into {prefix}ready (id, run_at, attempted_at, flags, claim, attempt, rank, queue, kind, server)
select id, run_at, attempted_at, flags & ~$2::integer, claim, attempt, rank, queue, kind, server from x;

-- name: limits_reserve
with x as (
    delete from {prefix}throttled where id = any($1::bigint[])
    returning id, attempted_at, flags, claim, attempt, rank, queue, kind, server
)
insert into {prefix}scheduled (id, run_at, attempted_at, flags, claim, attempt, rank, queue, kind, server)
select x.id, e.start, x.attempted_at, x.flags | $2, x.claim, x.attempt, x.rank, x.queue, x.kind, x.server
from x join unnest($1::bigint[], $3::bigint[]) e (id, start) on e.id = x.id;

-- name: limits_of
-- The limit keys of jobs, each once.
select distinct limit_key from {prefix}jobs where id = any($1::bigint[]) and limit_key is not null;

-- name: limits_wanted
-- Those of the keys that jobs wait for, or that have a mark.
select l.limit_key from unnest($1::text[]) e (key) join {prefix}limits l on l.limit_key = e.key
where l.marked or (select 1 from {prefix}throttled t where t.limit_key = l.limit_key limit 1) is not null;

-- name: limits_free
update {prefix}limits l set active = l.active - e.n from unnest($1::text[], $2::bigint[]) e (key, n) where l.limit_key = e.key;

-- name: limits_unuse
update {prefix}limits l set unused = true where l.limit_key = any($1::text[])
and (select 1 from {prefix}jobs j where j.limit_key = l.limit_key and j.limit_key <> '' limit 1) is null;

-- name: prune_limits
delete from {prefix}limits where limit_key = any(array(
    select l.limit_key from {prefix}limits l where l.unused and l.tat <= $1 and l.admit_tat <= $1
    and (select 1 from {prefix}jobs j where j.limit_key = l.limit_key and j.limit_key <> '' limit 1) is null
    order by l.tat limit $2 for update of l skip locked));

-- name: limits_list
select l.limit_key, l.max, l.rate, l.per, l.burst, l.active, l.reserved, l.tat,
    (select count(*) from {prefix}throttled t where t.limit_key = l.limit_key)
from {prefix}limits l where l.limit_key > $1 order by l.limit_key limit $2;
