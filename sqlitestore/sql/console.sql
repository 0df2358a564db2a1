-- name: console_read
-- The place of each write in the list, with what it goes on from; writes whose claim does not hold are left out.
select e.key, l.attempt, coalesce(p.progress, 0), coalesce(p.last_seq, 0)
from json_each(?1) e cross join {prefix}lease l on l.id = e.value ->> 0 and l.claim = e.value ->> 1
left join {prefix}progress p on p.id = l.id;

-- name: console_add
insert into {prefix}console (id, seq, attempt, at, line) values (?, ?, ?, ?, ?);

-- name: console_progress
insert into {prefix}progress (id, progress, last_seq) values (?, ?, ?)
on conflict (id) do update set progress = excluded.progress, last_seq = excluded.last_seq;

-- name: console_lines
select seq, attempt, at, line from {prefix}console where id = ?1 and seq > ?2 order by seq limit ?3;
