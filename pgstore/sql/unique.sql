-- Unique keys. expires_at is 0 while the key is held for as long as its job is live and not failed, else the end of its window.

-- name: unique_holders
select unique_key, id, expires_at from {prefix}uniques where unique_key = any($1::bytea[]);

-- name: insert_uniques
-- What is there already has to be what was there a moment ago, expired or the key of a job that is gone: otherwise somebody else was
-- faster, which shows by the number of rows. Keys come sorted, so that everybody waits in the same order.
insert into {prefix}uniques (unique_key, id, expires_at)
select e.key, e.id, e.expires from unnest($1::bytea[], $2::bigint[], $3::bigint[]) e (key, id, expires) order by e.key
on conflict (unique_key) do update set id = excluded.id, expires_at = excluded.expires_at
where {prefix}uniques.id = (select f.former from unnest($1::bytea[], $4::bigint[]) f (key, former) where f.key = excluded.unique_key);

-- name: unique_of
select j.unique_key, coalesce(u.id, 0), coalesce(u.expires_at, 0)
from {prefix}jobs j left join lateral (select id, expires_at from {prefix}uniques u where u.unique_key = j.unique_key offset 0) u on true
where j.id = $1 and j.unique_key is not null;

-- name: unique_release
delete from {prefix}uniques where id = $1 and expires_at = 0;

-- name: unique_release_all
delete from {prefix}uniques where id = any($1::bigint[]) and expires_at = 0;

-- name: unique_values
-- What a duplicate brings to the holder of its key.
update {prefix}jobs set args = $2, meta = $3, tags = $4, title = $5, priority = $6, deadline = $7, flags = $8 where id = $1;

-- name: meta_drop
delete from {prefix}metas where id = $1;

-- name: prune_uniques
delete from {prefix}uniques where unique_key = any(array(
    select unique_key from {prefix}uniques where expires_at > 0 and expires_at <= $1 order by expires_at limit $2 for update skip locked));

-- name: unique_awaiting
update {prefix}awaiting set rank = $2, flags = $3, run_at = $4 where id = $1;

-- name: awaiting_hold
select id from {prefix}awaiting where id = $1 and flags = $2 for update;
