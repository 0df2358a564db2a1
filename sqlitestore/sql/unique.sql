-- Unique keys. expires_at is 0 while the key is held for as long as its job is live and not failed, else the end of its window.

-- name: unique_holders
select u.unique_key, u.id, u.expires_at from (values (?)) k cross join {prefix}uniques u on u.unique_key = k.column1;

-- name: insert_unique
-- What is there already is expired, or the key of a job that is gone.
insert or replace into {prefix}uniques (unique_key, id, expires_at) values (?, ?, ?);

-- name: unique_of
select j.unique_key, coalesce(u.id, 0), coalesce(u.expires_at, 0)
from {prefix}jobs j left join {prefix}uniques u on u.unique_key = j.unique_key where j.id = ? and j.unique_key is not null;

-- name: unique_release
delete from {prefix}uniques where id = ? and expires_at = 0;

-- name: unique_release_all
delete from {prefix}uniques where id in (select value from json_each(?1)) and expires_at = 0;

-- name: unique_values
-- What a duplicate brings to the holder of its key.
update {prefix}jobs set args = ?2, meta = ?3, tags = ?4, title = ?5, priority = ?6, deadline = ?7, flags = ?8 where id = ?1;

-- name: meta_drop
delete from {prefix}metas where id = ?;

-- name: prune_uniques
delete from {prefix}uniques where unique_key in (
    select unique_key from {prefix}uniques where expires_at > 0 and expires_at <= ?1 order by expires_at limit ?2);

-- name: unique_awaiting
update {prefix}awaiting set rank = ?2, flags = ?3, run_at = ?4 where id = ?1;
