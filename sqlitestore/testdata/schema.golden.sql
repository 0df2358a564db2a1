-- The schema after all migrations. KILN_UPDATE_GOLDEN=1 writes this file.

CREATE TABLE kiln_awaiting (
    id            integer primary key,
    queue         text    not null,
    kind          text    not null,
    rank          integer not null,
    flags         integer not null,
    run_at        integer not null,
    pending       integer not null
) strict;

CREATE TABLE kiln_batches (
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

CREATE TABLE kiln_console (
    id            integer not null,
    seq           integer not null,
    attempt       integer not null,
    at            integer not null,
    line          text    not null,
    primary key (id, seq)
) strict;

CREATE TABLE kiln_deadlines (
    deadline      integer not null,
    id            integer not null,
    primary key (deadline, id)
) strict, without rowid;

CREATE TABLE kiln_deps (
    parent        integer not null,
    child         integer not null,
    mask          integer not null,
    open          integer not null,
    primary key (parent, child)
) strict, without rowid;

CREATE TABLE kiln_done (
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

CREATE TABLE kiln_endings (
    seq           integer primary key,
    job           integer not null,
    batch         integer not null,
    state         text    not null,
    settled       integer not null,
    until         integer not null
) strict;

CREATE TABLE kiln_failed (
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

CREATE TABLE kiln_history (
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

CREATE TABLE kiln_ids (
    id            integer primary key check (id = 1),
    last          integer not null,
    last_batch    integer not null
) strict;

CREATE TABLE kiln_jobs (
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

CREATE TABLE kiln_leaders (
    name          text    not null primary key,
    holder        text    not null,
    acquired_at   integer not null,
    renewed_at    integer not null,
    expires_at    integer not null
) strict, without rowid;

CREATE TABLE kiln_lease (
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

CREATE TABLE kiln_limits (
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

CREATE TABLE kiln_metas (
    id            integer primary key,
    meta          text    not null
) strict;

CREATE TABLE kiln_migrations (version integer primary key, name text not null, applied_at integer not null) strict;

CREATE TABLE kiln_outputs (
    id            integer primary key,
    output        blob    not null
) strict;

CREATE TABLE kiln_progress (
    id            integer primary key,
    progress      integer not null,
    last_seq      integer not null
) strict;

CREATE TABLE kiln_queues (
    name          text    not null primary key,
    paused_at     integer not null
) strict, without rowid;

CREATE TABLE kiln_ready (
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

CREATE TABLE kiln_recurring (
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

CREATE TABLE kiln_scheduled (
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

CREATE TABLE kiln_servers (
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

CREATE TABLE kiln_signals (
    seq           integer primary key,
    origin        integer not null,
    event         integer not null,
    queue         text    not null,
    job           integer not null
) strict;

CREATE TABLE kiln_stats (
    minute        integer not null,
    server        text    not null,
    succeeded     integer not null,
    failed        integer not null,
    deleted       integer not null,
    retried       integer not null,
    primary key (minute, server)
) strict, without rowid;

CREATE TABLE kiln_throttled (
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

CREATE TABLE kiln_totals (
    id            integer primary key check (id = 1),
    succeeded     integer not null,
    failed        integer not null,
    deleted       integer not null,
    retried       integer not null
) strict;

CREATE TABLE kiln_uniques (
    unique_key    blob    not null primary key,
    id            integer not null,
    expires_at    integer not null
) strict, without rowid;

CREATE INDEX kiln_awaiting_queue on kiln_awaiting (queue, id);

CREATE INDEX kiln_batches_idle on kiln_batches (id)
    where sealed = 1 and finished_at = 0 and live = 0 and nested = nested_finished;

CREATE INDEX kiln_batches_over on kiln_batches (finished_at, id) where finished_at > 0 and members = 0;

CREATE INDEX kiln_batches_parent on kiln_batches (parent, id) where parent > 0;

CREATE INDEX kiln_deps_child on kiln_deps (child);

CREATE INDEX kiln_done_list on kiln_done (state, finished_at, id);

CREATE INDEX kiln_endings_job on kiln_endings (job);

CREATE INDEX kiln_failed_kind on kiln_failed (kind, finished_at, id);

CREATE INDEX kiln_failed_list on kiln_failed (finished_at, id);

CREATE INDEX kiln_failed_queue on kiln_failed (queue, finished_at, id);

CREATE INDEX kiln_jobs_after_batch on kiln_jobs (after_batch, id) where after_batch > 0;

CREATE INDEX kiln_jobs_batch on kiln_jobs (batch_id, id) where batch_id > 0;

CREATE INDEX kiln_jobs_limit on kiln_jobs (limit_key, id) where limit_key <> '';

CREATE INDEX kiln_jobs_recurring on kiln_jobs (recurring_id, id) where recurring_id <> '';

CREATE INDEX kiln_limits_marked on kiln_limits (limit_key) where marked = 1;

CREATE INDEX kiln_limits_unused on kiln_limits (tat) where unused = 1;

CREATE INDEX kiln_recurring_due on kiln_recurring (next_run_at) where paused = 0 and next_run_at > 0;

CREATE INDEX kiln_scheduled_due on kiln_scheduled (run_at, id);

CREATE INDEX kiln_scheduled_queue on kiln_scheduled (queue, run_at, id);

CREATE INDEX kiln_scheduled_retries on kiln_scheduled (run_at, id) where attempt > 0;

CREATE INDEX kiln_throttled_list on kiln_throttled (rank, id);

CREATE INDEX kiln_throttled_queue on kiln_throttled (queue, rank, id);

CREATE INDEX kiln_throttled_turn on kiln_throttled (limit_key, rank, id);

CREATE INDEX kiln_uniques_expiry on kiln_uniques (expires_at) where expires_at > 0;

CREATE INDEX kiln_uniques_job on kiln_uniques (id);
