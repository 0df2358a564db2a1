-- Each statement finds what must not be: rows of a job's id and a short word. They read whole tables.

-- name: check_one_state
select j.id, 'job in ' || n || ' states' from (
    select j.id,
        (select count(*) from {prefix}ready r where r.queue = j.queue and r.kind = j.kind and r.rank = -j.priority and r.id = j.id)
        + (select count(*) from {prefix}lease x where x.id = j.id) + (select count(*) from {prefix}scheduled x where x.id = j.id)
        + (select count(*) from {prefix}throttled x where x.id = j.id) + (select count(*) from {prefix}awaiting x where x.id = j.id)
        + (select count(*) from {prefix}failed x where x.id = j.id) + (select count(*) from {prefix}done x where x.id = j.id) as n
    from {prefix}jobs j) j
where n <> 1 limit 5;

-- name: check_state_rows
select s.id, s.name || ' row that does not fit its job' from (
    select id, queue, kind, rank, claim, attempt, 'ready' as name from {prefix}ready
    union all select id, queue, kind, rank, claim, attempt, 'lease' from {prefix}lease
    union all select id, queue, kind, rank, claim, attempt, 'scheduled' from {prefix}scheduled
    union all select id, queue, kind, rank, claim, attempt, 'throttled' from {prefix}throttled
    union all select id, queue, kind, rank, 0, 0, 'awaiting' from {prefix}awaiting
    union all select id, queue, kind, null, claim, attempt, 'failed' from {prefix}failed
    union all select id, null, null, null, claim, attempt, 'done' from {prefix}done
) s left join {prefix}jobs j on j.id = s.id
where j.id is null or s.queue <> j.queue or s.kind <> j.kind or s.rank <> -j.priority or s.attempt < 0 or s.attempt > s.claim
limit 5;

-- name: check_flags
-- Outputs are kept by archived jobs alone, and every state has the flags of what its side tables hold.
select s.id, 'flags that do not fit the side tables' from (
    select id, flags, 0 as archived from {prefix}ready
    union all select id, flags, 0 from {prefix}lease
    union all select id, flags, 0 from {prefix}scheduled
    union all select id, flags, 0 from {prefix}throttled
    union all select id, flags, 0 from {prefix}awaiting
    union all select id, flags, 0 from {prefix}failed
    union all select id, flags, 1 from {prefix}done
) s
where (s.flags & ?1 <> 0) <> exists (select 1 from {prefix}metas m where m.id = s.id)
    or (s.flags & ?2 <> 0) <> exists (select 1 from {prefix}outputs o where o.id = s.id)
    or s.flags & ?2 <> 0 and not s.archived
limit 5;

-- name: check_deadlines
select id, 'deadline row that does not fit its job' from (
    select j.id, j.deadline from {prefix}jobs j
    where j.deadline <> 0 and (exists (select 1 from {prefix}scheduled s where s.id = j.id)
        or exists (select 1 from {prefix}throttled t where t.id = j.id) or exists (select 1 from {prefix}awaiting a where a.id = j.id)
        or exists (select 1 from {prefix}ready r where r.queue = j.queue and r.kind = j.kind and r.rank = -j.priority and r.id = j.id))
    except select id, deadline from {prefix}deadlines)
union all
select id, 'deadline row of a job that does not wait' from (
    select id, deadline from {prefix}deadlines except
    select j.id, j.deadline from {prefix}jobs j
    where j.deadline <> 0 and (exists (select 1 from {prefix}scheduled s where s.id = j.id)
        or exists (select 1 from {prefix}throttled t where t.id = j.id) or exists (select 1 from {prefix}awaiting a where a.id = j.id)
        or exists (select 1 from {prefix}ready r where r.queue = j.queue and r.kind = j.kind and r.rank = -j.priority and r.id = j.id)))
limit 5;

-- name: check_strays
select id, name || ' of no job' from (
    select id, 'meta' as name from {prefix}metas union all select id, 'output' from {prefix}outputs
    union all select id, 'history' from {prefix}history union all select id, 'console' from {prefix}console
    union all select id, 'progress' from {prefix}progress union all select child, 'dependency' from {prefix}deps
) s where not exists (select 1 from {prefix}jobs j where j.id = s.id) limit 5;

-- name: check_history
select id, 'history of ' || count(*) || ' entries' from {prefix}history group by id having count(*) > ?1 limit 5;

-- name: check_counters
select 0, 'totals below the statistics' from {prefix}totals t
where t.succeeded < (select coalesce(sum(succeeded), 0) from {prefix}stats)
    or t.failed < (select coalesce(sum(failed), 0) from {prefix}stats)
    or t.deleted < (select coalesce(sum(deleted), 0) from {prefix}stats)
    or t.retried < (select coalesce(sum(retried), 0) from {prefix}stats);

-- name: check_uniques
select u.id, 'a unique key that it does not hold any more' from {prefix}uniques u left join {prefix}jobs j on j.id = u.id
where u.expires_at = 0 and (j.id is null or j.unique_key is not u.unique_key
    or exists (select 1 from {prefix}failed f where f.id = u.id) or exists (select 1 from {prefix}done d where d.id = u.id)) limit 5;

-- name: check_keys
select j.id, 'a live job without its unique key' from {prefix}jobs j
where j.flags & ?1 <> 0 and not exists (select 1 from {prefix}failed f where f.id = j.id)
    and not exists (select 1 from {prefix}done d where d.id = j.id)
    and not exists (select 1 from {prefix}uniques u where u.unique_key = j.unique_key and u.id = j.id) limit 5;

-- name: check_limits
select 0, 'limit ' || l.limit_key || ' counts ' || l.active || ' active and ' || l.reserved || ' reserved of ' || c.active || ' and ' || c.reserved
from {prefix}limits l join (
    select k.limit_key, count(r.id) + count(x.id) as active, count(s.id) as reserved from {prefix}limits k
    left join {prefix}jobs j on j.limit_key = k.limit_key and j.limit_key <> ''
    left join {prefix}ready r on r.queue = j.queue and r.kind = j.kind and r.rank = -j.priority and r.id = j.id
    left join {prefix}lease x on x.id = j.id
    left join {prefix}scheduled s on s.id = j.id and s.flags & ?1 <> 0
    group by k.limit_key
) c on c.limit_key = l.limit_key
where c.active <> l.active or c.reserved <> l.reserved
union all
select j.id, 'a limit key without a rule' from {prefix}jobs j
where j.limit_key <> '' and not exists (select 1 from {prefix}limits l where l.limit_key = j.limit_key)
limit 5;

-- name: check_granted
select s.id, 'a reserved start where there can be none' from (
    select id, flags from {prefix}ready where flags & ?1 <> 0 union all select id, flags from {prefix}lease where flags & ?1 <> 0
    union all select id, flags from {prefix}awaiting where flags & ?1 <> 0 union all select id, flags from {prefix}failed where flags & ?1 <> 0
    union all select id, flags from {prefix}done where flags & ?1 <> 0
    union all select id, flags from {prefix}scheduled where flags & ?1 <> 0 and flags & ?2 = 0
    union all select id, flags from {prefix}throttled where flags & ?2 = 0
) s limit 5;

-- name: check_waiting
select t.id, 'a throttled job under a key with room' from {prefix}throttled t join {prefix}limits l on l.limit_key = t.limit_key
where l.marked = 0 and (l.max = 0 or l.active < l.max) limit 5;

-- name: check_waits
-- What a job counts is what it waits for, and that has not ended, but for what is left to be settled.
select a.id, 'waits for another number of things than it counts' from {prefix}awaiting a join {prefix}jobs j on j.id = a.id
where a.pending < 1 or a.pending <> (select count(*) from {prefix}deps d where d.child = a.id and d.open = 1)
    + exists (select 1 from {prefix}batches b where b.id = j.after_batch and b.finished_at = 0)
    and not exists (select 1 from {prefix}endings)
union all
select d.child, 'waits for job ' || d.parent || ', which has ended or is gone' from {prefix}deps d
join {prefix}awaiting a on a.id = d.child
where d.open = 1 and not exists (select 1 from {prefix}endings)
    and (not exists (select 1 from {prefix}jobs j where j.id = d.parent)
        or exists (select 1 from {prefix}done n where n.id = d.parent)
        or d.mask & ?1 <> 0 and exists (select 1 from {prefix}failed f where f.id = d.parent))
limit 5;

-- name: check_flow_flags
select s.id, 'flags that do not fit dependencies and batches' from (
    select id, flags from {prefix}ready
    union all select id, flags from {prefix}lease
    union all select id, flags from {prefix}scheduled
    union all select id, flags from {prefix}throttled
    union all select id, flags from {prefix}awaiting
    union all select id, flags from {prefix}failed
    union all select id, flags from {prefix}done
) s join {prefix}jobs j on j.id = s.id
where (s.flags & ?1 = 0) and exists (select 1 from {prefix}deps d where d.parent = s.id)
    or (s.flags & ?2 <> 0) <> (j.batch_id <> 0)
    or (s.flags & ?3 <> 0) <> (j.after_batch <> 0 or j.parents <> '')
limit 5;

-- name: check_batches
select b.id, 'batch whose counts are not those of its members' from {prefix}batches b
left join (
    select j.batch_id, count(*) as members, count(a.id) as awaiting, count(s.id) as scheduled, count(t.id) as throttled,
        count(f.id) as failed, coalesce(sum(d.state = 1), 0) as succeeded, coalesce(sum(d.state = 2), 0) as deleted
    from {prefix}jobs j
    left join {prefix}awaiting a on a.id = j.id
    left join {prefix}scheduled s on s.id = j.id
    left join {prefix}throttled t on t.id = j.id
    left join {prefix}failed f on f.id = j.id
    left join {prefix}done d on d.id = j.id
    where j.batch_id > 0 group by j.batch_id
) m on m.batch_id = b.id
where b.members <> coalesce(m.members, 0) or b.awaiting <> coalesce(m.awaiting, 0) or b.scheduled <> coalesce(m.scheduled, 0)
    or b.throttled <> coalesce(m.throttled, 0) or b.failed <> coalesce(m.failed, 0)
    or b.succeeded <> coalesce(m.succeeded, 0) or b.deleted <> coalesce(m.deleted, 0)
    or b.live <> b.awaiting + b.scheduled + b.throttled + b.active + b.failed or b.members <> b.live + b.succeeded + b.deleted
    or b.members > b.total
union all
select b.id, 'batch that is sealed and done and has not finished' from {prefix}batches b
where b.sealed = 1 and b.finished_at = 0 and b.live = 0 and b.nested = b.nested_finished
union all
select b.id, 'batch whose nested ones are not as it counts' from {prefix}batches b
where b.nested < (select count(*) from {prefix}batches c where c.parent = b.id)
    or b.nested - b.nested_finished <> (select count(*) from {prefix}batches c where c.parent = b.id and c.finished_at = 0)
union all
select j.id, 'member of batch ' || j.batch_id || ', which is gone' from {prefix}jobs j
where j.batch_id > 0 and not exists (select 1 from {prefix}batches b where b.id = j.batch_id)
limit 5;
