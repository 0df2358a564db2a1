-- What every transaction may write once at its end.

-- name: ids_last
select max(last, (select coalesce(max(id), 0) from {prefix}jobs)) from {prefix}ids where id = 1;

-- name: ids_keep
-- Before jobs are removed: the newest id is not to be given out again.
update {prefix}ids set last = (select max(id) from {prefix}jobs) where id = 1 and last < (select max(id) from {prefix}jobs);

-- name: stats_add
insert into {prefix}stats (minute, server, succeeded, failed, deleted, retried) values (?, ?, ?, ?, ?, ?)
on conflict (minute, server) do update set
    succeeded = succeeded + excluded.succeeded, failed = failed + excluded.failed,
    deleted = deleted + excluded.deleted, retried = retried + excluded.retried;

-- name: totals_add
update {prefix}totals set succeeded = succeeded + ?, failed = failed + ?, deleted = deleted + ?, retried = retried + ?
where id = 1;

-- name: tx_lock
-- Takes the write lock and changes nothing.
delete from {prefix}ids where id = 0;
