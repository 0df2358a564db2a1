-- name: insert_prompt
-- Jobs that are ready at once and share nothing with others, in one statement: 5.6 microseconds of the server's time per job at 1,000 a
-- call. Ids are given out in the order of the list, so that sorted they are those of its places.
with n as (
    select coalesce($1::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) as at
), i as materialized (
    select nextval('{prefix}job_ids') as id, e.queue, e.kind, e.priority, e.attempts, e.timeout, e.flags, e.recurring, e.title, e.tags, e.meta, e.args
    from unnest($2::text[], $3::text[], $4::smallint[], $5::integer[], $6::bigint[], $7::integer[], $8::text[], $9::text[], $10::text[], $11::text[], $12::bytea[])
        e (queue, kind, priority, attempts, timeout, flags, recurring, title, tags, meta, args)
), j as (
    insert into {prefix}jobs (id, created_at, timeout, max_attempts, flags, priority, queue, kind, recurring_id, title, tags, meta, args)
    select i.id, n.at, i.timeout, i.attempts, i.flags, i.priority, i.queue, i.kind, i.recurring, i.title, i.tags, i.meta, i.args from i, n
), r as (
    insert into {prefix}ready (id, run_at, flags, claim, attempt, rank, queue, kind)
    select i.id, n.at, i.flags, 0, 0, -i.priority::integer, i.queue, i.kind from i, n
)
select id from i;

-- name: insert_ids
-- One row with all of them: rows of one number each cost as much as the rest of a large call.
select array_agg(nextval('{prefix}job_ids')) from generate_series(1, $1::bigint);

-- name: copy_jobs
copy {prefix}jobs (id, created_at, timeout, max_attempts, flags, priority, queue, kind, recurring_id, title, tags, meta, args) from stdin (format binary);

-- name: copy_ready
copy {prefix}ready (id, run_at, flags, claim, attempt, rank, queue, kind) from stdin (format binary);

-- name: insert_jobs
-- Lists of parents come as text: PostgreSQL's arrays of arrays are rectangles.
insert into {prefix}jobs (id, created_at, queue, kind, priority, max_attempts, timeout, flags, args, deadline, batch_id, after_batch,
    limit_key, unique_key, recurring_id, parents, title, tags, meta)
select e.id, $2, e.queue, e.kind, e.priority, e.attempts, e.timeout, e.flags, e.args, e.deadline, e.batch, e.after_batch,
    e.limit_key, e.unique_key, e.recurring, e.parents::bigint[], e.title, e.tags, e.meta
from unnest($1::bigint[], $3::text[], $4::text[], $5::smallint[], $6::integer[], $7::bigint[], $8::integer[], $9::bytea[], $10::bigint[],
    $11::bigint[], $12::bigint[], $13::text[], $14::bytea[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[])
    e (id, queue, kind, priority, attempts, timeout, flags, args, deadline, batch, after_batch, limit_key, unique_key, recurring, parents, title, tags, meta);

-- name: insert_ready
insert into {prefix}ready (id, run_at, rank, flags, queue, kind, claim, attempt)
select e.*, 0, 0 from unnest($1::bigint[], $2::bigint[], $3::integer[], $4::integer[], $5::text[], $6::text[]) e;

-- name: insert_scheduled
insert into {prefix}scheduled (id, run_at, rank, flags, queue, kind, claim, attempt)
select e.*, 0, 0 from unnest($1::bigint[], $2::bigint[], $3::integer[], $4::integer[], $5::text[], $6::text[]) e;

-- name: insert_throttled
insert into {prefix}throttled (id, run_at, rank, flags, queue, kind, limit_key, claim, attempt)
select e.*, 0, 0 from unnest($1::bigint[], $2::bigint[], $3::integer[], $4::integer[], $5::text[], $6::text[], $7::text[]) e;

-- name: insert_awaiting
insert into {prefix}awaiting (id, run_at, rank, flags, queue, kind, pending)
select e.* from unnest($1::bigint[], $2::bigint[], $3::integer[], $4::integer[], $5::text[], $6::text[], $7::integer[]) e;

-- name: insert_doomed
insert into {prefix}done (id, run_at, flags, state, finished_at, claim, attempt)
select e.*, $4, $5, 0, 0 from unnest($1::bigint[], $2::bigint[], $3::integer[]) e;

-- name: insert_deadlines
insert into {prefix}deadlines (deadline, id) select e.* from unnest($1::bigint[], $2::bigint[]) e;
