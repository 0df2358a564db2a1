-- name: recurring_get
select id, grp, spec, location, template, misfire, overlap, paused, next_run_at, last_run_at, last_job_id,
    created_at, updated_at, version
from {prefix}recurring where id = ?;

-- name: recurring_list
-- Everything, for the page that lists it: a row per definition.
select id, grp, spec, location, template, misfire, overlap, paused, next_run_at, last_run_at, last_job_id,
    created_at, updated_at, version
from {prefix}recurring order by id;

-- name: recurring_due
select id, grp, spec, location, template, misfire, overlap, paused, next_run_at, last_run_at, last_job_id,
    created_at, updated_at, version
from {prefix}recurring where paused = 0 and next_run_at > 0 and next_run_at <= ?1 order by next_run_at, id limit ?2;

-- name: recurring_add
insert into {prefix}recurring (grp, spec, location, template, misfire, overlap, paused, next_run_at, last_run_at, last_job_id,
    id, created_at, updated_at, version)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12, 1)
on conflict (id) do nothing;

-- name: recurring_update
update {prefix}recurring set grp = ?1, spec = ?2, location = ?3, template = ?4, misfire = ?5, overlap = ?6, paused = ?7,
    next_run_at = ?8, last_run_at = ?9, last_job_id = ?10, updated_at = ?12, version = version + 1
where id = ?11 and version = ?13;

-- name: recurring_drop
delete from {prefix}recurring where id = ?;

-- name: recurring_versions
select e.key, r.version from json_each(?1) e cross join {prefix}recurring r on r.id = e.value;

-- name: recurring_step
-- A list of [id, next run, last run, last job or 0].
update {prefix}recurring as r set next_run_at = e.value ->> 1, last_run_at = e.value ->> 2,
    last_job_id = case when e.value ->> 3 > 0 then e.value ->> 3 else r.last_job_id end, version = r.version + 1
from json_each(?1) e where r.id = e.value ->> 0;
