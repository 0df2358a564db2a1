-- name: sweep_look
-- Whether there is anything that a sweep looks at, which on many installations there never is.
select exists (select 1 from {prefix}awaiting) or exists (select 1 from {prefix}limits) or exists (select 1 from {prefix}endings)
    or exists (select 1 from {prefix}arrivals) or exists (select 1 from {prefix}tallies)
    or exists (select 1 from {prefix}batches where sealed and finished_at = 0 and live = 0 and nested = nested_finished);

-- name: sweep_keys
-- Limit keys with the number of jobs that name them, up to a bound.
select l.limit_key, (select count(*) from (
    select 1 from {prefix}jobs j where j.limit_key = l.limit_key and j.limit_key <> '' limit $3) c)
from {prefix}limits l where l.limit_key > $1 order by l.limit_key limit $2;

-- name: sweep_count
-- Of the given keys those whose counters are wrong, and by how much.
select c.limit_key, c.active - l.active, c.reserved - l.reserved from (
    select e.key as limit_key, count(r.id) + count(x.id) as active, count(s.id) as reserved
    from unnest($1::text[]) e (key)
    left join lateral (select id, queue, priority from {prefix}jobs j where j.limit_key = e.key and j.limit_key <> '' offset 0) j on true
    left join lateral (select id from {prefix}ready r where r.queue = j.queue and r.rank = -j.priority::integer and r.id = j.id offset 0) r on true
    left join lateral (select id from {prefix}lease x where x.id = j.id offset 0) x on true
    left join lateral (select id from {prefix}scheduled s where s.id = j.id and s.flags & $2 <> 0 offset 0) s on true
    group by e.key
) c join {prefix}limits l on l.limit_key = c.limit_key
where c.active <> l.active or c.reserved <> l.reserved;
