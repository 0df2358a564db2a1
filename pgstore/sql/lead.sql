-- name: leader_read
-- Whoever reads the row may write it: two that want the lease come one after the other.
select holder, acquired_at, renewed_at, expires_at from {prefix}leaders where name = $1::text for update;

-- name: leader_add
insert into {prefix}leaders (name, holder, acquired_at, renewed_at, expires_at)
values ($1::text, $2::text, $3::bigint, $4::bigint, $5::bigint) on conflict (name) do nothing;

-- name: leader_put
update {prefix}leaders set holder = $2::text, acquired_at = $3::bigint, renewed_at = $4::bigint, expires_at = $5::bigint where name = $1::text;

-- name: leader_drop
delete from {prefix}leaders where name = $1::text and holder = $2::text;

-- name: leader_drop_all
delete from {prefix}leaders where holder = $1::text;
