-- Instants: the parameter is the time of a test's clock, null for the database's own.

-- name: tx_now
select coalesce($1::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint);

-- name: tx_settings
-- Plans without sequential scans, since one that was made for a small table is used when it is large; and no compilation, which
-- the cost that this adds to the few scans that are meant would set off. Modes that send and get values as text need arrays with nulls
-- in them, and bytes in hex.
select set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true), set_config('enable_seqscan', 'off', true),
    set_config('jit', 'off', true), set_config('search_path', 'pg_catalog', true), set_config('idle_in_transaction_session_timeout', $2, true),
    set_config('array_nulls', 'on', true), set_config('bytea_output', 'hex', true);

-- name: counts_add
insert into {prefix}counts (minute, server, succeeded, failed, deleted, retried) values ($1, $2, $3, $4, $5, $6);

-- name: counts_fold
-- A row per flush becomes a row per minute and server. One process at a time does it; the others pass.
with taken as (
    delete from {prefix}counts where ctid = any(array(
        select ctid from {prefix}counts limit $1 for update skip locked))
    returning minute, server, succeeded, failed, deleted, retried
), folded as (
    insert into {prefix}stats (minute, server, succeeded, failed, deleted, retried)
    select minute, server, sum(succeeded), sum(failed), sum(deleted), sum(retried) from taken group by minute, server order by minute, server
    on conflict (minute, server) do update set
        succeeded = {prefix}stats.succeeded + excluded.succeeded, failed = {prefix}stats.failed + excluded.failed,
        deleted = {prefix}stats.deleted + excluded.deleted, retried = {prefix}stats.retried + excluded.retried
)
update {prefix}totals t set succeeded = t.succeeded + s.succeeded, failed = t.failed + s.failed, deleted = t.deleted + s.deleted, retried = t.retried + s.retried
from (select sum(succeeded)::bigint as succeeded, sum(failed)::bigint as failed, sum(deleted)::bigint as deleted, sum(retried)::bigint as retried
    from taken having count(*) > 0) s
where t.id = 1;

-- name: lock_arrivals
-- One at a time takes in what transactions of applications have brought, in its order.
select pg_advisory_xact_lock(hashtextextended($1, 7277816997830721));
