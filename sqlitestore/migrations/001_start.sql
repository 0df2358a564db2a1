-- Instants are microseconds since the Unix epoch in UTC, and rank is the priority with its sign turned, so that the first row
-- of an index is the next job.

-- What was inserted, written once. The payload stands last: columns before it are read without its overflow pages.
create table {prefix}jobs (
    id            integer primary key,
    queue         text    not null,
    kind          text    not null,
    priority      integer not null,
    max_attempts  integer not null,
    timeout       integer not null,
    flags         integer not null,
    created_at    integer not null,
    deadline      integer not null default 0,
    batch_id      integer not null default 0,
    after_batch   integer not null default 0,
    limit_key     text    not null default '',
    unique_key    blob,
    recurring_id  text    not null default '',
    parents       text    not null default '',
    title         text    not null default '',
    tags          text    not null default '',
    meta          text    not null default '',
    args          blob    not null
) strict;
create index {prefix}jobs_batch on {prefix}jobs (batch_id, id) where batch_id > 0;
create index {prefix}jobs_after_batch on {prefix}jobs (after_batch, id) where after_batch > 0;
create index {prefix}jobs_recurring on {prefix}jobs (recurring_id, id) where recurring_id <> '';
create index {prefix}jobs_limit on {prefix}jobs (limit_key, id) where limit_key <> '';

-- One narrow table per state. A job is in exactly one of them, and moves by a delete and an insert.

-- Enqueued: a lane is a queue and a kind, so that jobs of foreign kinds cost a claim nothing.
create table {prefix}ready (
    queue         text    not null,
    kind          text    not null,
    rank          integer not null,
    id            integer not null,
    flags         integer not null,
    claim         integer not null,
    attempt       integer not null,
    run_at        integer not null,
    attempted_at  integer not null,
    server        text    not null,
    primary key (queue, kind, rank, id)
) strict, without rowid;

-- Processing. Few rows at any time: leases of a server are found by a scan, which is cheaper than an index on the way of
-- every job (2.8 of 13.5 microseconds from claim to finish).
create table {prefix}lease (
    id            integer primary key,
    queue         text    not null,
    kind          text    not null,
    rank          integer not null,
    flags         integer not null,
    claim         integer not null,
    attempt       integer not null,
    run_at        integer not null,
    attempted_at  integer not null,
    server        text    not null,
    cancel        integer not null default 0
) strict;

create table {prefix}scheduled (
    id            integer primary key,
    queue         text    not null,
    kind          text    not null,
    rank          integer not null,
    flags         integer not null,
    claim         integer not null,
    attempt       integer not null,
    run_at        integer not null,
    attempted_at  integer not null,
    server        text    not null
) strict;
create index {prefix}scheduled_due on {prefix}scheduled (run_at, id);
create index {prefix}scheduled_queue on {prefix}scheduled (queue, run_at, id);
create index {prefix}scheduled_retries on {prefix}scheduled (run_at, id) where attempt > 0;

create table {prefix}throttled (
    id            integer primary key,
    limit_key     text    not null,
    queue         text    not null,
    kind          text    not null,
    rank          integer not null,
    flags         integer not null,
    claim         integer not null,
    attempt       integer not null,
    run_at        integer not null,
    attempted_at  integer not null,
    server        text    not null
) strict;
create index {prefix}throttled_turn on {prefix}throttled (limit_key, rank, id);
create index {prefix}throttled_list on {prefix}throttled (rank, id);
create index {prefix}throttled_queue on {prefix}throttled (queue, rank, id);

create table {prefix}awaiting (
    id            integer primary key,
    queue         text    not null,
    kind          text    not null,
    rank          integer not null,
    flags         integer not null,
    run_at        integer not null,
    pending       integer not null
) strict;
create index {prefix}awaiting_queue on {prefix}awaiting (queue, id);

create table {prefix}failed (
    id            integer primary key,
    queue         text    not null,
    kind          text    not null,
    flags         integer not null,
    claim         integer not null,
    attempt       integer not null,
    run_at        integer not null,
    attempted_at  integer not null,
    server        text    not null,
    finished_at   integer not null
) strict;
create index {prefix}failed_list on {prefix}failed (finished_at, id);
create index {prefix}failed_queue on {prefix}failed (queue, finished_at, id);
create index {prefix}failed_kind on {prefix}failed (kind, finished_at, id);

-- Archived: state 1 is succeeded, 2 is deleted.
create table {prefix}done (
    id            integer primary key,
    state         integer not null,
    flags         integer not null,
    claim         integer not null,
    attempt       integer not null,
    run_at        integer not null,
    attempted_at  integer not null,
    server        text    not null,
    finished_at   integer not null
) strict;
create index {prefix}done_list on {prefix}done (state, finished_at, id);

-- What only some jobs have.

create table {prefix}metas (
    id            integer primary key,
    meta          text    not null
) strict;

create table {prefix}outputs (
    id            integer primary key,
    output        blob    not null
) strict;

create table {prefix}history (
    id            integer not null,
    seq           integer not null,
    at            integer not null,
    started_at    integer,
    state         text    not null,
    attempt       integer not null,
    reason        text    not null,
    server        text    not null,
    actor         text    not null,
    error         text    not null,
    trace         text    not null,
    primary key (id, seq)
) strict;

create table {prefix}progress (
    id            integer primary key,
    progress      integer not null,
    last_seq      integer not null
) strict;

create table {prefix}console (
    id            integer not null,
    seq           integer not null,
    attempt       integer not null,
    at            integer not null,
    line          text    not null,
    primary key (id, seq)
) strict;

-- Deadlines of jobs that wait; a job that is claimed or ends has no row.
create table {prefix}deadlines (
    deadline      integer not null,
    id            integer not null,
    primary key (deadline, id)
) strict, without rowid;

-- open is 1 while the child counts the parent among what it waits for. It says nothing of a child that waits no more.
create table {prefix}deps (
    parent        integer not null,
    child         integer not null,
    mask          integer not null,
    open          integer not null,
    primary key (parent, child)
) strict, without rowid;
create index {prefix}deps_child on {prefix}deps (child);

-- Ends of jobs and batches whose dependents were too many for one call: those with ids above settled, up to until, are still
-- to be settled. Of job and batch one is 0.
create table {prefix}endings (
    seq           integer primary key,
    job           integer not null,
    batch         integer not null,
    state         text    not null,
    settled       integer not null,
    until         integer not null
) strict;
create index {prefix}endings_job on {prefix}endings (job);

-- expires_at is 0 for a key that is held while its job is live.
create table {prefix}uniques (
    unique_key    blob    not null primary key,
    id            integer not null,
    expires_at    integer not null
) strict, without rowid;
create index {prefix}uniques_job on {prefix}uniques (id);
create index {prefix}uniques_expiry on {prefix}uniques (expires_at) where expires_at > 0;

-- active counts the jobs that are enqueued or processing, reserved the scheduled ones with a reserved start; tat and admit_tat are
-- in nanoseconds. A key is marked when jobs may wait that nobody has looked at, and unused when the last job that named it is gone.
create table {prefix}limits (
    limit_key     text    not null primary key,
    max           integer not null,
    rate          integer not null,
    per           integer not null,
    burst         integer not null,
    active        integer not null,
    reserved      integer not null,
    tat           integer not null,
    admit_tat     integer not null,
    marked        integer not null,
    unused        integer not null
) strict, without rowid;
create index {prefix}limits_marked on {prefix}limits (limit_key) where marked = 1;
create index {prefix}limits_unused on {prefix}limits (tat) where unused = 1;

-- The counts of members by state are kept here, each changed once per call, so that no reader walks over members. Active are
-- the enqueued and processing ones: a claim changes nothing here, and how many of them run is read from their leases. Live is
-- the sum of the states that are not archived, members that of all.
create table {prefix}batches (
    id              integer primary key,
    parent          integer not null,
    sealed          integer not null default 0,
    total           integer not null default 0,
    members         integer not null default 0,
    live            integer not null default 0,
    awaiting        integer not null default 0,
    scheduled       integer not null default 0,
    throttled       integer not null default 0,
    active          integer not null default 0,
    failed          integer not null default 0,
    succeeded       integer not null default 0,
    deleted         integer not null default 0,
    nested          integer not null default 0,
    nested_finished integer not null default 0,
    created_at      integer not null,
    finished_at     integer not null default 0,
    meta            text    not null,
    description     text    not null
) strict;
create index {prefix}batches_parent on {prefix}batches (parent, id) where parent > 0;
create index {prefix}batches_idle on {prefix}batches (id)
    where sealed = 1 and finished_at = 0 and live = 0 and nested = nested_finished;
create index {prefix}batches_over on {prefix}batches (finished_at, id) where finished_at > 0 and members = 0;

create table {prefix}recurring (
    id            text    not null primary key,
    grp           text    not null,
    spec          text    not null,
    location      text    not null,
    template      text    not null,
    misfire       integer not null,
    overlap       integer not null,
    paused        integer not null,
    next_run_at   integer not null,
    last_run_at   integer not null,
    last_job_id   integer not null,
    created_at    integer not null,
    updated_at    integer not null,
    version       integer not null
) strict, without rowid;
create index {prefix}recurring_due on {prefix}recurring (next_run_at) where paused = 0 and next_run_at > 0;

-- Servers, leases of leaders, pauses.

create table {prefix}servers (
    id            text    not null primary key,
    host          text    not null,
    pid           integer not null,
    version       text    not null,
    queues        text    not null,
    kinds         text    not null,
    workers       integer not null,
    running       integer not null,
    started_at    integer not null,
    heartbeat_at  integer not null
) strict, without rowid;

create table {prefix}leaders (
    name          text    not null primary key,
    holder        text    not null,
    acquired_at   integer not null,
    renewed_at    integer not null,
    expires_at    integer not null
) strict, without rowid;

create table {prefix}queues (
    name          text    not null primary key,
    paused_at     integer not null
) strict, without rowid;

-- Statistics by minute and server, and their sums since the beginning, which retention leaves alone.
create table {prefix}stats (
    minute        integer not null,
    server        text    not null,
    succeeded     integer not null,
    failed        integer not null,
    deleted       integer not null,
    retried       integer not null,
    primary key (minute, server)
) strict, without rowid;

create table {prefix}totals (
    id            integer primary key check (id = 1),
    succeeded     integer not null,
    failed        integer not null,
    deleted       integer not null,
    retried       integer not null
) strict;
insert into {prefix}totals values (1, 0, 0, 0, 0);

-- The newest id among the jobs that retention has removed. Ids go on from it or from the newest job, so that none is used
-- again. Those of batches go on from last_batch.
create table {prefix}ids (
    id            integer primary key check (id = 1),
    last          integer not null,
    last_batch    integer not null
) strict;
insert into {prefix}ids values (1, 0, 0);

-- What other processes are to be told and cannot see by the ids of new jobs, in order. The newest thousands are kept, never none, so that seq only grows.
create table {prefix}signals (
    seq           integer primary key,
    origin        integer not null,
    event         integer not null,
    queue         text    not null,
    job           integer not null
) strict;
