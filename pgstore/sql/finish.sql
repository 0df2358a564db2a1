-- Plain successes, which most ends are, take one statement for all of a call: one row of one table written for each, and one of
-- statistics for all. What is missing from its answer is stale, or is not plain, and goes the longer way.

-- name: finish_plain
-- Jobs that succeeded under one claim number, left nothing, and share nothing with others.
with n as (
    select coalesce($1::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) as at
), x as (
    delete from {prefix}lease where id = any($2::bigint[]) and claim = $3 and flags & $4 = 0
    returning id, run_at, attempted_at, flags, claim, attempt, server
), d as (
    insert into {prefix}done (id, run_at, attempted_at, finished_at, flags, claim, attempt, state, server)
    select x.id, x.run_at, x.attempted_at, n.at, x.flags, x.claim, x.attempt, 1, x.server from x, n
), s as (
    insert into {prefix}counts (minute, server, succeeded, failed, deleted, retried)
    select (select floor(n.at / 60000000.0)::bigint from n), $5, count(*), 0, 0, 0 from x having count(*) > 0
)
select case when count(*) = $6 then null else coalesce(array_agg(id), '{}') end from x;

-- name: finish_read
-- The leases that outcomes name, locked; those that somebody else holds are passed over.
select l.id, l.claim, l.attempt, l.attempted_at, l.flags, l.cancel, l.server, j.queue, -j.priority::integer, coalesce(j.batch_id, 0), coalesce(j.limit_key, '')
from {prefix}lease l cross join lateral (select queue, priority, batch_id, limit_key from {prefix}jobs j where j.id = l.id offset 0) j
where l.id = any($1::bigint[]) order by l.id for update of l skip locked;

-- name: finish_held
-- Those that are there all the same.
select id, claim from {prefix}lease where id = any($1::bigint[]);

-- name: finish_done
with x as (
    delete from {prefix}lease where id = any($1::bigint[])
    returning id, run_at, attempted_at, flags, claim, attempt, server
)
insert into {prefix}done (id, run_at, attempted_at, finished_at, flags, claim, attempt, state, server)
select x.id, x.run_at, x.attempted_at, $3, x.flags | $4, x.claim, x.attempt, $2, x.server from x;

-- name: finish_failed
with e as (
    select * from unnest($1::bigint[], $2::integer[]) e (id, attempt)
), x as (
    delete from {prefix}lease where id = any($1::bigint[])
    returning id, run_at, attempted_at, flags, claim, server
)
insert into {prefix}failed (id, run_at, attempted_at, finished_at, flags, claim, attempt, queue, kind, server)
select x.id, x.run_at, x.attempted_at, $3, x.flags, x.claim, e.attempt, j.queue, j.kind, x.server
from x join e on e.id = x.id cross join lateral (select queue, kind from {prefix}jobs j where j.id = x.id offset 0) j;

-- name: finish_scheduled
with e as (
    select * from unnest($1::bigint[], $2::integer[], $3::bigint[]) e (id, attempt, run_at)
), x as (
    delete from {prefix}lease where id = any($1::bigint[])
    returning id, attempted_at, flags, claim, server
)
insert into {prefix}scheduled (id, run_at, attempted_at, flags, claim, attempt, rank, queue, kind, server)
select x.id, e.run_at, x.attempted_at, x.flags, x.claim, e.attempt, -j.priority::integer, j.queue, j.kind, x.server
from x join e on e.id = x.id cross join lateral (select priority, queue, kind from {prefix}jobs j where j.id = x.id offset 0) j;

-- name: finish_ready
with e as (
    select * from unnest($1::bigint[], $2::integer[], $3::bigint[]) e (id, attempt, run_at)
), x as (
    delete from {prefix}lease where id = any($1::bigint[])
    returning id, attempted_at, flags, claim, server
)
insert into {prefix}ready (id, run_at, attempted_at, flags, claim, attempt, rank, queue, kind, server)
select x.id, e.run_at, x.attempted_at, x.flags, x.claim, e.attempt, -j.priority::integer, j.queue, j.kind, x.server
from x join e on e.id = x.id cross join lateral (select priority, queue, kind from {prefix}jobs j where j.id = x.id offset 0) j;

-- name: finish_throttled
with e as (
    select * from unnest($1::bigint[], $2::integer[], $3::bigint[]) e (id, attempt, run_at)
), x as (
    delete from {prefix}lease where id = any($1::bigint[])
    returning id, attempted_at, flags, claim, server
)
insert into {prefix}throttled (id, run_at, attempted_at, flags, claim, attempt, rank, limit_key, queue, kind, server)
select x.id, e.run_at, x.attempted_at, x.flags, x.claim, e.attempt, -j.priority::integer, j.limit_key, j.queue, j.kind, x.server
from x join e on e.id = x.id cross join lateral (select priority, limit_key, queue, kind from {prefix}jobs j where j.id = x.id offset 0) j;

-- name: history_add
-- A list may name a job more than once: its entries follow each other in the order of the list. A history keeps its newest entries.
with e as (
    select e.*, row_number() over (partition by e.id order by e.place) as nth
    from unnest($1::bigint[], $2::bigint[], $3::integer[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bigint[])
        with ordinality e (id, at, attempt, state, reason, server, actor, error, trace, started_at, place)
), l as (
    select k.id, coalesce((select h.seq from {prefix}history h where h.id = k.id order by h.seq desc limit 1), 0) as seq
    from (select distinct id from e) k
), t as (
    delete from {prefix}history where ctid = any(array(
        select h.place from l cross join lateral (
            select ctid as place from {prefix}history h where h.id = l.id and h.seq <= l.seq - $11 + (select count(*) from e where e.id = l.id) offset 0
        ) h where l.seq >= $11))
)
insert into {prefix}history (id, seq, at, started_at, attempt, state, reason, server, actor, error, trace)
select e.id, l.seq + e.nth, e.at, nullif(e.started_at, 0), e.attempt, e.state, e.reason, e.server, e.actor, e.error, e.trace
from e join l on l.id = e.id;

-- name: output_put
insert into {prefix}outputs (id, output) values ($1, $2) on conflict (id) do update set output = excluded.output;

-- name: outputs_put
insert into {prefix}outputs (id, output) select e.* from unnest($1::bigint[], $2::bytea[]) e
on conflict (id) do update set output = excluded.output;

-- name: meta_of
select coalesce(m.meta, j.meta, '') from {prefix}jobs j left join {prefix}metas m on m.id = j.id where j.id = $1;

-- name: lease_lock
select id from {prefix}lease where id = $1 and claim = $2 for update;

-- name: meta_put
insert into {prefix}metas (id, meta) values ($1, $2) on conflict (id) do update set meta = excluded.meta;

-- name: lease_flags
update {prefix}lease set flags = flags | $2 where id = $1;
