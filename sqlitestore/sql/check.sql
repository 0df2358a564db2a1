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
    union all select id, 'progress' from {prefix}progress
) s where not exists (select 1 from {prefix}jobs j where j.id = s.id) limit 5;

-- name: check_history
select id, 'history of ' || count(*) || ' entries' from {prefix}history group by id having count(*) > ?1 limit 5;

-- name: check_counters
select 0, 'totals below the statistics' from {prefix}totals t
where t.succeeded < (select coalesce(sum(succeeded), 0) from {prefix}stats)
    or t.failed < (select coalesce(sum(failed), 0) from {prefix}stats)
    or t.deleted < (select coalesce(sum(deleted), 0) from {prefix}stats)
    or t.retried < (select coalesce(sum(retried), 0) from {prefix}stats);
