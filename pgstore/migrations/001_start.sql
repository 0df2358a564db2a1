-- Instants are microseconds since the Unix epoch in UTC, and rank is the priority with its sign turned, so that the first row
-- of an index is the next job. Wide columns stand first, which leaves no holes between the columns of a row; what few jobs have is
-- null in the others and takes no room.

-- Ids come from here, so that they are known before a row is written.
create sequence {prefix}job_ids as bigint;
create sequence {prefix}batch_ids as bigint;

-- What was inserted, written once. Nothing that happens to a plain job touches its row until it is pruned.
create table {prefix}jobs (
    id            bigint   not null primary key,
    created_at    bigint   not null,
    timeout       bigint   not null,
    max_attempts  integer  not null,
    flags         integer  not null,
    priority      smallint not null,
    queue         text     not null,
    kind          text     not null,
    deadline      bigint,
    batch_id      bigint,
    after_batch   bigint,
    limit_key     text collate "C",
    unique_key    bytea,
    recurring_id  text collate "C",
    parents       bigint[],
    title         text,
    tags          text,
    meta          text,
    args          bytea    not null
);
create index jobs_batch on {prefix}jobs (batch_id, id) where batch_id > 0;
create index jobs_after_batch on {prefix}jobs (after_batch, id) where after_batch > 0;
create index jobs_recurring on {prefix}jobs (recurring_id, id) where recurring_id <> '';
create index jobs_limit on {prefix}jobs (limit_key, id) where limit_key <> '';

-- One narrow table per state. A job is in exactly one of them, and moves by a delete and an insert.

-- Enqueued.
create table {prefix}ready (
    id            bigint   not null,
    run_at        bigint   not null,
    flags         integer  not null,
    claim         integer  not null,
    attempt       integer  not null,
    rank          integer  not null,
    queue         text collate "C" not null,
    kind          text collate "C" not null,
    attempted_at  bigint,
    server        text,
    primary key (queue, rank, id)
);

-- Processing. Few rows at any time: what is looked for by server or queue is found by a scan.
create table {prefix}lease (
    id            bigint   not null primary key,
    run_at        bigint   not null,
    attempted_at  bigint   not null,
    flags         integer  not null,
    claim         integer  not null,
    attempt       integer  not null,
    cancel        boolean  not null default false,
    server        text     not null
);

create table {prefix}scheduled (
    id            bigint   not null primary key,
    run_at        bigint   not null,
    flags         integer  not null,
    claim         integer  not null,
    attempt       integer  not null,
    rank          integer  not null,
    queue         text collate "C" not null,
    kind          text collate "C" not null,
    attempted_at  bigint,
    server        text
);
create index scheduled_due on {prefix}scheduled (run_at, id);
create index scheduled_queue on {prefix}scheduled (queue, run_at, id);
create index scheduled_retries on {prefix}scheduled (run_at, id) where attempt > 0;

create table {prefix}throttled (
    id            bigint   not null primary key,
    run_at        bigint   not null,
    flags         integer  not null,
    claim         integer  not null,
    attempt       integer  not null,
    rank          integer  not null,
    limit_key     text collate "C" not null,
    queue         text collate "C" not null,
    kind          text collate "C" not null,
    attempted_at  bigint,
    server        text
);
create index throttled_turn on {prefix}throttled (limit_key, rank, id);
create index throttled_list on {prefix}throttled (rank, id);
create index throttled_queue on {prefix}throttled (queue, rank, id);

create table {prefix}awaiting (
    id            bigint   not null primary key,
    run_at        bigint   not null,
    flags         integer  not null,
    pending       integer  not null,
    rank          integer  not null,
    queue         text collate "C" not null,
    kind          text collate "C" not null
);
create index awaiting_queue on {prefix}awaiting (queue, id);

create table {prefix}failed (
    id            bigint   not null primary key,
    run_at        bigint   not null,
    attempted_at  bigint,
    finished_at   bigint   not null,
    flags         integer  not null,
    claim         integer  not null,
    attempt       integer  not null,
    queue         text collate "C" not null,
    kind          text collate "C" not null,
    server        text
);
create index failed_list on {prefix}failed (finished_at, id);
create index failed_queue on {prefix}failed (queue, finished_at, id);
create index failed_kind on {prefix}failed (kind, finished_at, id);

-- Succeeded (1) and deleted (2).
create table {prefix}done (
    id            bigint   not null primary key,
    run_at        bigint   not null,
    attempted_at  bigint,
    finished_at   bigint   not null,
    flags         integer  not null,
    claim         integer  not null,
    attempt       integer  not null,
    state         smallint not null,
    server        text
);
create index done_list on {prefix}done (state, finished_at, id);

-- What only some jobs have.
create table {prefix}deadlines (
    deadline      bigint   not null,
    id            bigint   not null,
    primary key (deadline, id)
);
create table {prefix}metas (id bigint not null primary key, meta text not null);
create table {prefix}outputs (id bigint not null primary key, output bytea not null);
create table {prefix}progress (id bigint not null primary key, last_seq bigint not null, progress integer not null);
create table {prefix}console (
    id            bigint   not null,
    seq           bigint   not null,
    at            bigint   not null,
    attempt       integer  not null,
    line          text     not null,
    primary key (id, seq)
);
create table {prefix}history (
    id            bigint   not null,
    at            bigint   not null,
    started_at    bigint,
    seq           integer  not null,
    attempt       integer  not null,
    state         text     not null,
    reason        text     not null,
    server        text     not null,
    actor         text     not null,
    error         text     not null,
    trace         text     not null,
    primary key (id, seq)
);

-- Unique keys. expires_at is 0 while the key is held for as long as its job is live and not failed, else the end of its window.
create table {prefix}uniques (
    unique_key    bytea    not null primary key,
    id            bigint   not null,
    expires_at    bigint   not null
);
create index uniques_job on {prefix}uniques (id);
create index uniques_expiry on {prefix}uniques (expires_at) where expires_at > 0;

-- Limits. The two clocks are in nanoseconds.
create table {prefix}limits (
    tat           bigint   not null,
    admit_tat     bigint   not null,
    per           bigint   not null,
    max           integer  not null,
    rate          integer  not null,
    burst         integer  not null,
    active        integer  not null,
    reserved      integer  not null,
    marked        boolean  not null,
    unused        boolean  not null,
    limit_key     text collate "C" not null primary key
) with (fillfactor = 70);
create index limits_marked on {prefix}limits (limit_key) where marked;
create index limits_unused on {prefix}limits (tat) where unused;

-- Who waits for whom.
create table {prefix}deps (
    parent        bigint   not null,
    child         bigint   not null,
    mask          smallint not null,
    open          boolean  not null,
    primary key (parent, child)
);
create index deps_child on {prefix}deps (child);

-- Ends of jobs and batches with so many dependents that they are settled by several calls.
create table {prefix}endings (
    seq           bigint   not null generated always as identity primary key,
    job           bigint   not null,
    batch         bigint   not null,
    settled       bigint   not null,
    until         bigint   not null,
    state         text     not null
);
create index endings_job on {prefix}endings (job);

create table {prefix}batches (
    id              bigint  not null primary key,
    parent          bigint  not null,
    total           bigint  not null default 0,
    members         bigint  not null default 0,
    live            bigint  not null default 0,
    awaiting        bigint  not null default 0,
    scheduled       bigint  not null default 0,
    throttled       bigint  not null default 0,
    active          bigint  not null default 0,
    failed          bigint  not null default 0,
    succeeded       bigint  not null default 0,
    deleted         bigint  not null default 0,
    nested          bigint  not null default 0,
    nested_finished bigint  not null default 0,
    created_at      bigint  not null,
    finished_at     bigint  not null default 0,
    sealed          boolean not null default false,
    meta            text    not null,
    description     text    not null
) with (fillfactor = 70);
create index batches_parent on {prefix}batches (parent, id) where parent > 0;
create index batches_idle on {prefix}batches (id)
    where sealed and finished_at = 0 and live = 0 and nested = nested_finished;
create index batches_over on {prefix}batches (finished_at, id) where finished_at > 0 and members = 0;

-- What transactions of applications have done to batches, and what they have brought that has to be looked at once they are
-- committed: jobs that wait for others, and limit rules. They only add rows, so that they never wait for each other or for
-- servers; the store takes the rows in after the commit.
create table {prefix}tallies (
    batch           bigint  not null,
    total           bigint  not null,
    awaiting        bigint  not null,
    scheduled       bigint  not null,
    throttled       bigint  not null,
    active          bigint  not null,
    failed          bigint  not null,
    succeeded       bigint  not null,
    deleted         bigint  not null,
    nested          bigint  not null,
    nested_finished bigint  not null,
    sealed          boolean not null
);
create index tallies_batch on {prefix}tallies (batch);
create table {prefix}arrivals (
    seq           bigint   not null generated always as identity primary key,
    job           bigint,
    per           bigint,
    max           integer,
    rate          integer,
    burst         integer,
    limit_key     text
);

create table {prefix}recurring (
    next_run_at   bigint   not null,
    last_run_at   bigint   not null,
    last_job_id   bigint   not null,
    created_at    bigint   not null,
    updated_at    bigint   not null,
    version       bigint   not null,
    misfire       integer  not null,
    overlap       boolean  not null,
    paused        boolean  not null,
    id            text collate "C" not null primary key,
    grp           text     not null,
    spec          text     not null,
    location      text     not null,
    template      text     not null
);
create index recurring_due on {prefix}recurring (next_run_at) where not paused and next_run_at > 0;

create table {prefix}servers (
    started_at    bigint   not null,
    heartbeat_at  bigint   not null,
    pid           bigint   not null,
    workers       integer  not null,
    running       integer  not null,
    id            text collate "C" not null primary key,
    host          text     not null,
    version       text     not null,
    queues        text     not null,
    kinds         text     not null
) with (fillfactor = 50);
create table {prefix}leaders (
    acquired_at   bigint   not null,
    renewed_at    bigint   not null,
    expires_at    bigint   not null,
    name          text collate "C" not null primary key,
    holder        text     not null
) with (fillfactor = 50);
create table {prefix}queues (
    paused_at     bigint   not null,
    name          text collate "C" not null primary key
);

-- Statistics: a row per flush, folded into a row per minute and server, and into the totals.
create table {prefix}counts (
    minute        bigint   not null,
    succeeded     bigint   not null,
    failed        bigint   not null,
    deleted       bigint   not null,
    retried       bigint   not null,
    server        text     not null
);
create table {prefix}stats (
    minute        bigint   not null,
    succeeded     bigint   not null,
    failed        bigint   not null,
    deleted       bigint   not null,
    retried       bigint   not null,
    server        text collate "C" not null,
    primary key (minute, server)
) with (fillfactor = 50);
create table {prefix}totals (
    id            integer  not null primary key check (id = 1),
    succeeded     bigint   not null,
    failed        bigint   not null,
    deleted       bigint   not null,
    retried       bigint   not null
) with (fillfactor = 50);
insert into {prefix}totals (id, succeeded, failed, deleted, retried) values (1, 0, 0, 0, 0);

-- Rows of these come and go by the thousand a second: they are cleaned when ten thousand are dead, however large the table, and
-- without pauses.
alter table {prefix}ready set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100000);
alter table {prefix}lease set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100000);
alter table {prefix}scheduled set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);
alter table {prefix}throttled set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);
alter table {prefix}awaiting set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);
alter table {prefix}counts set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);
alter table {prefix}limits set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
alter table {prefix}jobs set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);
alter table {prefix}done set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);
