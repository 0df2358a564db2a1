-- name: batch_next
update {prefix}ids set last_batch = last_batch + 1 where id = 1 returning last_batch;

-- name: batch_put
insert into {prefix}batches (id, parent, created_at, meta, description) values (?, ?, ?, ?, ?);

-- name: batch_states
select b.id, b.finished_at from json_each(?1) e cross join {prefix}batches b on b.id = e.value;

-- name: batch_tally
-- One update per batch and call, however many members moved.
update {prefix}batches set total = total + ?2, awaiting = awaiting + ?3, scheduled = scheduled + ?4, throttled = throttled + ?5,
    active = active + ?6, failed = failed + ?7, succeeded = succeeded + ?8, deleted = deleted + ?9,
    live = live + ?3 + ?4 + ?5 + ?6 + ?7, members = members + ?3 + ?4 + ?5 + ?6 + ?7 + ?8 + ?9,
    nested = nested + ?10, nested_finished = nested_finished + ?11, sealed = max(sealed, ?12)
where id = ?1
returning parent, sealed, finished_at > 0, live, nested, nested_finished;

-- name: batch_finish
update {prefix}batches set finished_at = ?2 where id = ?1;

-- name: batch_members
-- How many of the jobs belong to which batches.
select j.batch_id, count(*) from json_each(?1) e cross join {prefix}jobs j on j.id = e.value where j.batch_id > 0 group by j.batch_id;

-- name: batch_leased
-- The same for those that are leased and have the flag of members.
select j.batch_id, count(*) from json_each(?1) e cross join {prefix}lease l on l.id = e.value cross join {prefix}jobs j on j.id = l.id
where l.flags & ?2 <> 0 group by j.batch_id;

-- name: batch_idle
select id from {prefix}batches where sealed = 1 and finished_at = 0 and live = 0 and nested = nested_finished order by id limit ?;

-- name: batch_read
select id, parent, sealed, total, awaiting, scheduled, throttled, active, failed, succeeded, deleted, nested, nested_finished,
    created_at, finished_at, meta, description
from {prefix}batches where id = ?;

-- name: batch_list
select id, parent, sealed, total, awaiting, scheduled, throttled, active, failed, succeeded, deleted, nested, nested_finished,
    created_at, finished_at, meta, description
from {prefix}batches where id < ? order by id desc limit ?;

-- name: batch_list_nested
select id, parent, sealed, total, awaiting, scheduled, throttled, active, failed, succeeded, deleted, nested, nested_finished,
    created_at, finished_at, meta, description
from {prefix}batches where parent = ? and parent > 0 and id < ? order by id desc limit ?;

-- name: batch_running
-- How many of the members run: jobs in process are few.
select j.batch_id, count(*) from {prefix}lease l cross join {prefix}jobs j on j.id = l.id
where l.flags & ?2 <> 0 and j.batch_id in (select value from json_each(?1)) group by j.batch_id;

-- name: prune_batches
-- Inner ones first: what holds another that still exists stays for a later call.
delete from {prefix}batches where id in (
    select b.id from {prefix}batches b where b.finished_at > 0 and b.members = 0 and b.finished_at <= ?1
        and not exists (select 1 from {prefix}batches c where c.parent = b.id and c.parent > 0)
    order by b.finished_at, b.id limit ?2);
