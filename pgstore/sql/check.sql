-- Each statement finds what must not be: rows of a job's id and a short word. They read whole tables.

-- name: check_settings
-- Whole tables are best read from end to end and joined by hashing, and take the time they take. Nested loops look cheap because of the
-- limits, which are for what should not be: with them the first check took minutes on 200,000 jobs, without a second.
select set_config('enable_seqscan', 'on', true), set_config('enable_nestloop', 'off', true), set_config('statement_timeout', '0', true);

-- name: check_one_state
select j.id, 'job in ' || count(s.id) || ' states' from {prefix}jobs j left join (
    select id from {prefix}ready union all select id from {prefix}lease union all select id from {prefix}scheduled
    union all select id from {prefix}throttled union all select id from {prefix}awaiting
    union all select id from {prefix}failed union all select id from {prefix}done
) s on s.id = j.id
group by j.id having count(s.id) <> 1 limit 5;

-- name: check_state_rows
select s.id, s.name || ' row that does not fit its job' from (
    select id, queue, kind, rank, claim, attempt, 'ready' as name from {prefix}ready
    union all select id, null, null, null, claim, attempt, 'lease' from {prefix}lease
    union all select id, queue, kind, rank, claim, attempt, 'scheduled' from {prefix}scheduled
    union all select id, queue, kind, rank, claim, attempt, 'throttled' from {prefix}throttled
    union all select id, queue, kind, rank, 0, 0, 'awaiting' from {prefix}awaiting
    union all select id, queue, kind, null, claim, attempt, 'failed' from {prefix}failed
    union all select id, null, null, null, claim, attempt, 'done' from {prefix}done
) s left join {prefix}jobs j on j.id = s.id
where j.id is null or s.queue <> j.queue or s.kind <> j.kind or s.rank <> -j.priority::integer or s.attempt < 0 or s.attempt > s.claim
limit 5;

-- name: check_flags
-- Outputs are kept by archived jobs alone, and every state has the flags of what its side tables hold.
select s.id, 'flags that do not fit the side tables' from (
    select id, flags, false as archived from {prefix}ready
    union all select id, flags, false from {prefix}lease
    union all select id, flags, false from {prefix}scheduled
    union all select id, flags, false from {prefix}throttled
    union all select id, flags, false from {prefix}awaiting
    union all select id, flags, false from {prefix}failed
    union all select id, flags, true from {prefix}done
) s
where (s.flags & $1::integer <> 0) <> exists (select 1 from {prefix}metas m where m.id = s.id)
    or (s.flags & $2::integer <> 0) <> exists (select 1 from {prefix}outputs o where o.id = s.id)
    or s.flags & $2::integer <> 0 and not s.archived
limit 5;

-- name: check_own_flags
-- What a job has of itself is what its flags say, wherever it is.
select s.id, 'flags that do not fit the job' from (
    select id, flags from {prefix}ready
    union all select id, flags from {prefix}lease
    union all select id, flags from {prefix}scheduled
    union all select id, flags from {prefix}throttled
    union all select id, flags from {prefix}awaiting
    union all select id, flags from {prefix}failed
    union all select id, flags from {prefix}done
) s join {prefix}jobs j on j.id = s.id
where (s.flags & $1::integer <> 0) <> (coalesce(j.limit_key, '') <> '')
    or (s.flags & $2::integer <> 0) <> (coalesce(j.deadline, 0) <> 0)
    or (s.flags & $3::integer <> 0) <> (j.unique_key is not null)
limit 5;

-- name: check_deadlines
with waiting as (
    select j.deadline, j.id from {prefix}jobs j join (
        select id from {prefix}ready union all select id from {prefix}scheduled
        union all select id from {prefix}throttled union all select id from {prefix}awaiting
    ) s on s.id = j.id where j.deadline <> 0
)
(select w.id, 'deadline row that does not fit its job' from waiting w
    where not exists (select 1 from {prefix}deadlines d where d.deadline = w.deadline and d.id = w.id) limit 5)
union all
(select d.id, 'deadline row of a job that does not wait' from {prefix}deadlines d
    where not exists (select 1 from waiting w where w.deadline = d.deadline and w.id = d.id) limit 5);

-- name: check_strays
select id, name || ' of no job' from (
    select id, 'meta' as name from {prefix}metas union all select id, 'output' from {prefix}outputs
    union all select id, 'history' from {prefix}history union all select id, 'console' from {prefix}console
    union all select id, 'progress' from {prefix}progress union all select child, 'dependency' from {prefix}deps
) s where not exists (select 1 from {prefix}jobs j where j.id = s.id) limit 5;

-- name: check_history
select id, 'history of ' || count(*) || ' entries' from {prefix}history group by id having count(*) > $1::bigint limit 5;

-- name: check_counters
select 0::bigint, 'totals below the statistics' from {prefix}totals t, (
    select coalesce(sum(succeeded), 0) as succeeded, coalesce(sum(failed), 0) as failed, coalesce(sum(deleted), 0) as deleted,
        coalesce(sum(retried), 0) as retried from {prefix}stats
) s
where t.succeeded < s.succeeded or t.failed < s.failed or t.deleted < s.deleted or t.retried < s.retried;

-- name: check_uniques
select u.id, 'a unique key that it does not hold any more' from {prefix}uniques u left join {prefix}jobs j on j.id = u.id
where u.expires_at = 0 and (j.id is null or j.unique_key is distinct from u.unique_key
    or exists (select 1 from {prefix}failed f where f.id = u.id) or exists (select 1 from {prefix}done d where d.id = u.id)) limit 5;

-- name: check_keys
select j.id, 'a live job without its unique key' from {prefix}jobs j
where j.flags & $1::integer <> 0 and not exists (select 1 from {prefix}failed f where f.id = j.id)
    and not exists (select 1 from {prefix}done d where d.id = j.id)
    and not exists (select 1 from {prefix}uniques u where u.unique_key = j.unique_key and u.id = j.id) limit 5;

-- name: check_limits
select 0::bigint, 'limit ' || l.limit_key || ' counts ' || l.active || ' active and ' || l.reserved || ' reserved of ' || c.active || ' and ' || c.reserved
from {prefix}limits l join (
    select k.limit_key, count(r.id) + count(x.id) as active, count(s.id) as reserved from {prefix}limits k
    left join {prefix}jobs j on j.limit_key = k.limit_key
    left join {prefix}ready r on r.id = j.id
    left join {prefix}lease x on x.id = j.id
    left join {prefix}scheduled s on s.id = j.id and s.flags & $1::integer <> 0
    group by k.limit_key
) c on c.limit_key = l.limit_key
where c.active <> l.active or c.reserved <> l.reserved
union all
(select j.id, 'a limit key without a rule' from {prefix}jobs j
where j.limit_key <> '' and not exists (select 1 from {prefix}limits l where l.limit_key = j.limit_key)
    and not exists (select 1 from {prefix}arrivals a where a.limit_key = j.limit_key) limit 5);

-- name: check_granted
select s.id, 'a reserved start where there can be none' from (
    select id, flags from {prefix}ready where flags & $1::integer <> 0
    union all select id, flags from {prefix}lease where flags & $1::integer <> 0
    union all select id, flags from {prefix}awaiting where flags & $1::integer <> 0
    union all select id, flags from {prefix}failed where flags & $1::integer <> 0
    union all select id, flags from {prefix}done where flags & $1::integer <> 0
    union all select id, flags from {prefix}scheduled where flags & $1::integer <> 0 and flags & $2::integer = 0
    union all select id, flags from {prefix}throttled where flags & $2::integer = 0
) s limit 5;

-- name: check_waiting
select t.id, 'a throttled job under a key with room' from {prefix}throttled t join {prefix}limits l on l.limit_key = t.limit_key
where not l.marked and (l.max = 0 or l.active < l.max) and not exists (select 1 from {prefix}arrivals a where a.limit_key = t.limit_key) limit 5;

-- name: check_waits
-- What a job counts is what it waits for, and that has not ended, but for what is left to be settled.
(select a.id, 'waits for another number of things than it counts' from {prefix}awaiting a join {prefix}jobs j on j.id = a.id
where a.pending < 1 or a.pending <> (select count(*) from {prefix}deps d where d.child = a.id and d.open)
    + exists (select 1 from {prefix}batches b where b.id = j.after_batch and b.finished_at = 0)::integer
    and not exists (select 1 from {prefix}endings) and not exists (select 1 from {prefix}arrivals r where r.job = a.id) limit 5)
union all
(select d.child, 'waits for job ' || d.parent || ', which has ended or is gone' from {prefix}deps d
join {prefix}awaiting a on a.id = d.child
where d.open and not exists (select 1 from {prefix}endings) and not exists (select 1 from {prefix}arrivals r where r.job = a.id)
    and (not exists (select 1 from {prefix}jobs j where j.id = d.parent)
        or exists (select 1 from {prefix}done n where n.id = d.parent)
        or d.mask & $1::integer <> 0 and exists (select 1 from {prefix}failed f where f.id = d.parent)) limit 5);

-- name: check_flow_flags
-- A transaction of an application does not touch the jobs that had ended before it came to wait for them.
select s.id, 'flags that do not fit dependencies and batches' from (
    select id, flags from {prefix}ready
    union all select id, flags from {prefix}lease
    union all select id, flags from {prefix}scheduled
    union all select id, flags from {prefix}throttled
    union all select id, flags from {prefix}awaiting
    union all select id, flags from {prefix}failed
    union all select id, flags from {prefix}done
) s join {prefix}jobs j on j.id = s.id
where (s.flags & $1::integer = 0) and exists (
        select 1 from {prefix}deps d join {prefix}awaiting a on a.id = d.child
        where d.parent = s.id and d.open and not exists (select 1 from {prefix}arrivals r where r.job = d.child))
    or (s.flags & $2::integer <> 0) <> (coalesce(j.batch_id, 0) <> 0)
    or (s.flags & $3::integer <> 0) <> (coalesce(j.after_batch, 0) <> 0 or coalesce(cardinality(j.parents), 0) > 0)
limit 5;

-- name: check_batches
-- With what transactions of applications have done to batches and the store has not added yet.
with t as (
    select batch, sum(total) as total, sum(awaiting) as awaiting, sum(scheduled) as scheduled, sum(throttled) as throttled,
        sum(active) as active, sum(failed) as failed, sum(succeeded) as succeeded, sum(deleted) as deleted, sum(nested) as nested
    from {prefix}tallies group by batch
), b as (
    select b.id, b.sealed, b.finished_at, b.nested_finished, t.batch is not null as touched,
        b.total + coalesce(t.total, 0) as total, b.awaiting + coalesce(t.awaiting, 0) as awaiting,
        b.scheduled + coalesce(t.scheduled, 0) as scheduled, b.throttled + coalesce(t.throttled, 0) as throttled,
        b.active + coalesce(t.active, 0) as active, b.failed + coalesce(t.failed, 0) as failed,
        b.succeeded + coalesce(t.succeeded, 0) as succeeded, b.deleted + coalesce(t.deleted, 0) as deleted,
        b.live + coalesce(t.awaiting + t.scheduled + t.throttled + t.active + t.failed, 0) as live,
        b.members + coalesce(t.awaiting + t.scheduled + t.throttled + t.active + t.failed + t.succeeded + t.deleted, 0) as members,
        b.nested + coalesce(t.nested, 0) as nested
    from {prefix}batches b left join t on t.batch = b.id
), m as (
    select j.batch_id, count(*) as members, count(a.id) as awaiting, count(s.id) as scheduled, count(t.id) as throttled,
        count(f.id) as failed, count(*) filter (where d.state = 1) as succeeded, count(*) filter (where d.state = 2) as deleted
    from {prefix}jobs j
    left join {prefix}awaiting a on a.id = j.id
    left join {prefix}scheduled s on s.id = j.id
    left join {prefix}throttled t on t.id = j.id
    left join {prefix}failed f on f.id = j.id
    left join {prefix}done d on d.id = j.id
    where j.batch_id > 0 group by j.batch_id
)
(select b.id, 'batch whose counts are not those of its members' from b left join m on m.batch_id = b.id
where b.members <> coalesce(m.members, 0) or b.awaiting <> coalesce(m.awaiting, 0) or b.scheduled <> coalesce(m.scheduled, 0)
    or b.throttled <> coalesce(m.throttled, 0) or b.failed <> coalesce(m.failed, 0)
    or b.succeeded <> coalesce(m.succeeded, 0) or b.deleted <> coalesce(m.deleted, 0)
    or b.live <> b.awaiting + b.scheduled + b.throttled + b.active + b.failed or b.members <> b.live + b.succeeded + b.deleted
    or b.members > b.total limit 5)
union all
(select b.id, 'batch that is sealed and done and has not finished' from b
where b.sealed and b.finished_at = 0 and b.live = 0 and b.nested = b.nested_finished and not b.touched limit 5)
union all
(select b.id, 'batch whose nested ones are not as it counts' from b
where b.nested < (select count(*) from {prefix}batches c where c.parent = b.id)
    or b.nested - b.nested_finished <> (select count(*) from {prefix}batches c where c.parent = b.id and c.finished_at = 0) limit 5)
union all
(select j.id, 'member of batch ' || j.batch_id || ', which is gone' from {prefix}jobs j
where j.batch_id > 0 and not exists (select 1 from {prefix}batches b where b.id = j.batch_id) limit 5);
