-- name: console_hold
-- The consoles of the writes; those whose claim does not hold are left out. The leases stay as they are until the lines are in, so that
-- no job ends and is pruned in between, and no two writes give the same numbers.
select l.id, l.claim, l.attempt
from unnest($1::bigint[], $2::integer[]) e (id, claim) join {prefix}lease l on l.id = e.id and l.claim = e.claim
order by l.id for no key update of l;

-- name: console_read
-- Where they stand, by a statement of its own: the one that waited for a lease would still see what was there before it waited.
select id, progress, last_seq from {prefix}progress where id = any($1::bigint[]);

-- name: console_add
insert into {prefix}console (id, seq, attempt, at, line)
select id, seq, attempt, $5::bigint, line from unnest($1::bigint[], $2::bigint[], $3::integer[], $4::text[]) e (id, seq, attempt, line);

-- name: console_progress
insert into {prefix}progress (id, progress, last_seq)
select id, progress, last_seq from unnest($1::bigint[], $2::integer[], $3::bigint[]) e (id, progress, last_seq)
on conflict (id) do update set progress = excluded.progress, last_seq = excluded.last_seq;

-- name: console_lines
select seq, attempt, at, line from {prefix}console where id = $1::bigint and seq > $2::bigint order by seq limit $3::bigint;
