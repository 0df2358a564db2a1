-- name: leader_read
select holder, acquired_at, renewed_at, expires_at from {prefix}leaders where name = ?;

-- name: leader_put
insert into {prefix}leaders (name, holder, acquired_at, renewed_at, expires_at) values (?, ?, ?, ?, ?)
on conflict (name) do update set holder = excluded.holder, acquired_at = excluded.acquired_at, renewed_at = excluded.renewed_at,
    expires_at = excluded.expires_at;

-- name: leader_drop
delete from {prefix}leaders where name = ? and holder = ?;

-- name: leader_drop_all
delete from {prefix}leaders where holder = ?;
