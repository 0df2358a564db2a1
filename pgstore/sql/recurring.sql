-- name: recurring_get
select id, grp, spec, location, template, misfire, overlap, paused, next_run_at, last_run_at, last_job_id,
    created_at, updated_at, version
from {prefix}recurring where id = $1::text;

-- name: recurring_list
-- Everything, for the page that lists it: a row per definition.
select id, grp, spec, location, template, misfire, overlap, paused, next_run_at, last_run_at, last_job_id,
    created_at, updated_at, version
from {prefix}recurring order by id;

-- name: recurring_due
select id, grp, spec, location, template, misfire, overlap, paused, next_run_at, last_run_at, last_job_id,
    created_at, updated_at, version
from {prefix}recurring where not paused and next_run_at > 0 and next_run_at <= $1::bigint order by next_run_at, id limit $2::bigint;

-- name: recurring_add
insert into {prefix}recurring (grp, spec, location, template, misfire, overlap, paused, next_run_at, last_run_at, last_job_id,
    id, created_at, updated_at, version)
values ($1::text, $2::text, $3::text, $4::text, $5::integer, $6::boolean, $7::boolean, $8::bigint, $9::bigint, $10::bigint,
    $11::text, $12::bigint, $12::bigint, 1)
on conflict (id) do nothing;

-- name: recurring_update
update {prefix}recurring set grp = $1::text, spec = $2::text, location = $3::text, template = $4::text, misfire = $5::integer,
    overlap = $6::boolean, paused = $7::boolean, next_run_at = $8::bigint, last_run_at = $9::bigint, last_job_id = $10::bigint,
    updated_at = $12::bigint, version = version + 1
where id = $11::text and version = $13::bigint;

-- name: recurring_drop
delete from {prefix}recurring where id = $1::text;

-- name: recurring_versions
-- The rows stay locked until they have moved on, so that of several steps from one version one is taken.
select id, version from {prefix}recurring where id = any($1::text[]) order by id for update;

-- name: recurring_step
-- A last job of 0 is none.
update {prefix}recurring r set version = r.version + 1,
    next_run_at = ($2::bigint[])[array_position($1::text[], r.id)],
    last_run_at = ($3::bigint[])[array_position($1::text[], r.id)],
    last_job_id = coalesce(nullif(($4::bigint[])[array_position($1::text[], r.id)], 0), r.last_job_id)
where r.id = any($1::text[]);
