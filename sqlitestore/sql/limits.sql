-- Limits. A call notes which keys it touched and looks at all of them once, at its end: keys without waiting jobs cost one seek and
-- one update, and jobs that start or get a reserved start move as a set. From claim to end a job costs 6.0 microseconds of CPU when it
-- is plain, 8.2 with one of 10,000 limit keys that have room, and 13.7 when each has to wait for the one before it; 7.6 with a unique
-- key. (BenchmarkDrainKeys, batches of 500.)

-- name: limits_rule
-- The latest insert sets the rule. Most say what is there already, which writes nothing.
insert into {prefix}limits (limit_key, max, rate, per, burst, active, reserved, tat, admit_tat, marked, unused)
select column1, column2, column3, column4, column5, 0, 0, 0, 0, 0, 0 from (values (?, ?, ?, ?, ?)) where true
on conflict (limit_key) do update set max = excluded.max, rate = excluded.rate, per = excluded.per, burst = excluded.burst, unused = 0
where max <> excluded.max or rate <> excluded.rate or per <> excluded.per or burst <> excluded.burst or unused <> 0;

-- name: limits_waiting
-- Of the given keys those with waiting jobs or a mark, and whether more than Max counts for them.
select e.key, l.max, l.active, l.rate > 0 or l.marked <> 0 from json_each(?1) e cross join {prefix}limits l on l.limit_key = e.value
where l.marked <> 0 or exists (select 1 from {prefix}throttled t where t.limit_key = l.limit_key);

-- name: limits_clocks_of
select rate, per, burst, tat, admit_tat, marked from {prefix}limits where limit_key = ?;

-- name: limits_room
-- The room of those of the given keys that have no rate and no waiting jobs.
select e.key, l.max - l.active from json_each(?1) e cross join {prefix}limits l on l.limit_key = e.value
where l.rate = 0 and l.marked = 0 and not exists (select 1 from {prefix}throttled t where t.limit_key = l.limit_key);

-- name: limits_shift
update {prefix}limits set active = active + (e.value ->> 1), reserved = reserved + (e.value ->> 2)
from json_each(?1) e where {prefix}limits.limit_key = e.value ->> 0;

-- name: limits_clocks
update {prefix}limits set tat = e.value ->> 1, admit_tat = e.value ->> 2, marked = e.value ->> 3
from json_each(?1) e where {prefix}limits.limit_key = e.value ->> 0;

-- name: limits_marked
select limit_key from {prefix}limits where marked = 1 and limit_key >= '' order by limit_key limit ?1;

-- name: limits_next
-- Marked keys are work for the next Promote, as if it had been due since 1970.
select coalesce(max(marked), 0) from {prefix}limits where marked = 1;

-- name: limits_turn
-- The waiting jobs of one key in the order of admission.
select id, queue, flags from {prefix}throttled where limit_key = ?1 order by rank, id limit ?2;

-- name: limits_heads
-- The first waiting jobs of several keys, as many of each.
select e.key, t.id, t.queue, t.flags from json_each(?1) e cross join {prefix}throttled t
on t.id in (select h.id from {prefix}throttled h where h.limit_key = e.value order by h.rank, h.id limit ?2);

-- name: limits_start
insert into {prefix}ready (queue, kind, rank, id, flags, claim, attempt, run_at, attempted_at, server)
select t.queue, t.kind, t.rank, t.id, t.flags & ~?2, t.claim, t.attempt, t.run_at, t.attempted_at, t.server
from json_each(?1) e cross join {prefix}throttled t on t.id = e.value;

-- name: limits_started
delete from {prefix}throttled where id in (select value from json_each(?1));

-- name: limits_reserve
insert into {prefix}scheduled (queue, kind, rank, id, flags, claim, attempt, run_at, attempted_at, server)
select t.queue, t.kind, t.rank, t.id, t.flags | ?2, t.claim, t.attempt, e.value ->> 1, t.attempted_at, t.server
from json_each(?1) e cross join {prefix}throttled t on t.id = e.value ->> 0;

-- name: limits_reserved
delete from {prefix}throttled where id in (select value ->> 0 from json_each(?1));

-- name: limits_of
-- The limit keys of jobs, each once. (The plus keeps SQLite from reading the index of all limited jobs.)
select distinct j.limit_key from json_each(?1) e cross join {prefix}jobs j on j.id = e.value where +j.limit_key <> '';

-- name: limits_any
select exists (select 1 from {prefix}throttled where id > 0);

-- name: limits_wanted
-- The limit keys with waiting jobs among those of the given jobs, each with how many name it and what limits_waiting says.
select j.limit_key, count(*), l.max, l.active, l.rate > 0 or l.marked <> 0
from json_each(?1) e cross join {prefix}jobs j on j.id = e.value cross join {prefix}limits l on l.limit_key = j.limit_key
where exists (select 1 from {prefix}throttled t where t.limit_key = j.limit_key) group by j.limit_key;

-- name: limits_free
-- The others, which nobody waits for; all of them without the second parameter.
update {prefix}limits set active = active - c.n from (
    select j.limit_key as name, count(*) as n from json_each(?1) e cross join {prefix}jobs j on j.id = e.value
    where ?2 = 0 or not exists (select 1 from {prefix}throttled t where t.limit_key = j.limit_key) group by j.limit_key
) c where {prefix}limits.limit_key = c.name;

-- name: limits_unuse
update {prefix}limits set unused = 1 where limit_key in (select value from json_each(?1))
and not exists (select 1 from {prefix}jobs j where j.limit_key = {prefix}limits.limit_key and j.limit_key <> '');

-- name: prune_limits
delete from {prefix}limits where limit_key in (
    select l.limit_key from {prefix}limits l where l.unused = 1 and l.tat <= ?1 and l.admit_tat <= ?1
    and not exists (select 1 from {prefix}jobs j where j.limit_key = l.limit_key and j.limit_key <> '') order by l.tat limit ?2);

-- name: limits_list
select l.limit_key, l.max, l.rate, l.per, l.burst, l.active, l.reserved, l.tat,
    (select count(*) from {prefix}throttled t where t.limit_key = l.limit_key)
from {prefix}limits l where l.limit_key > ?1 order by l.limit_key limit ?2;

-- name: insert_throttled
insert into {prefix}throttled (queue, kind, rank, id, flags, run_at, limit_key, claim, attempt, attempted_at, server)
select column1, column2, column3, column4, column5, column6, column7, 0, 0, 0, '' from (values (?, ?, ?, ?, ?, ?, ?));
