-- What every transaction may write once at its end.

-- name: ids_last
select last from {prefix}ids where id = 1;

-- name: ids_take
update {prefix}ids set last = ? where id = 1;

-- name: stats_add
insert into {prefix}stats (minute, server, succeeded, failed, deleted, retried) values (?, ?, ?, ?, ?, ?)
on conflict (minute, server) do update set
    succeeded = succeeded + excluded.succeeded, failed = failed + excluded.failed,
    deleted = deleted + excluded.deleted, retried = retried + excluded.retried;

-- name: totals_add
update {prefix}totals set succeeded = succeeded + ?, failed = failed + ?, deleted = deleted + ?, retried = retried + ?
where id = 1;
