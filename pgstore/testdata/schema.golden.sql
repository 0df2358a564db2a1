-- The schema after all migrations, as the catalogs describe it. KILN_UPDATE_GOLDEN=1 writes this file.

table arrivals (
    seq bigint not null generated as identity,
    job bigint,
    per bigint,
    max integer,
    rate integer,
    burst integer,
    limit_key text
);
CREATE UNIQUE INDEX arrivals_pkey ON arrivals USING btree (seq);

table awaiting (
    id bigint not null,
    run_at bigint not null,
    flags integer not null,
    pending integer not null,
    rank integer not null,
    queue text collate "C" not null,
    kind text collate "C" not null
) with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=10000);
CREATE INDEX awaiting_queue ON awaiting USING btree (queue, id);
CREATE UNIQUE INDEX awaiting_pkey ON awaiting USING btree (id);

table batches (
    id bigint not null,
    parent bigint not null,
    total bigint not null default 0,
    members bigint not null default 0,
    live bigint not null default 0,
    awaiting bigint not null default 0,
    scheduled bigint not null default 0,
    throttled bigint not null default 0,
    active bigint not null default 0,
    failed bigint not null default 0,
    succeeded bigint not null default 0,
    deleted bigint not null default 0,
    nested bigint not null default 0,
    nested_finished bigint not null default 0,
    created_at bigint not null,
    finished_at bigint not null default 0,
    sealed boolean not null default false,
    meta text not null,
    description text not null
) with (fillfactor=70);
CREATE INDEX batches_idle ON batches USING btree (id) WHERE (sealed AND (finished_at = 0) AND (live = 0) AND (nested = nested_finished));
CREATE INDEX batches_over ON batches USING btree (finished_at, id) WHERE ((finished_at > 0) AND (members = 0));
CREATE INDEX batches_parent ON batches USING btree (parent, id) WHERE (parent > 0);
CREATE UNIQUE INDEX batches_pkey ON batches USING btree (id);

table console (
    id bigint not null,
    seq bigint not null,
    at bigint not null,
    attempt integer not null,
    line text not null
);
CREATE UNIQUE INDEX console_pkey ON console USING btree (id, seq);

table counts (
    minute bigint not null,
    succeeded bigint not null,
    failed bigint not null,
    deleted bigint not null,
    retried bigint not null,
    server text not null
) with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=10000);

table deadlines (
    deadline bigint not null,
    id bigint not null
);
CREATE UNIQUE INDEX deadlines_pkey ON deadlines USING btree (deadline, id);

table deps (
    parent bigint not null,
    child bigint not null,
    mask smallint not null,
    open boolean not null
);
CREATE INDEX deps_child ON deps USING btree (child);
CREATE UNIQUE INDEX deps_pkey ON deps USING btree (parent, child);

table done (
    id bigint not null,
    run_at bigint not null,
    attempted_at bigint,
    finished_at bigint not null,
    flags integer not null,
    claim integer not null,
    attempt integer not null,
    state smallint not null,
    server text
) with (autovacuum_vacuum_insert_scale_factor=0.1, autovacuum_vacuum_scale_factor=0.05);
CREATE INDEX done_list ON done USING btree (state, finished_at, id);
CREATE UNIQUE INDEX done_pkey ON done USING btree (id);

table endings (
    seq bigint not null generated as identity,
    job bigint not null,
    batch bigint not null,
    settled bigint not null,
    until bigint not null,
    state text not null
);
CREATE INDEX endings_job ON endings USING btree (job);
CREATE UNIQUE INDEX endings_pkey ON endings USING btree (seq);

table failed (
    id bigint not null,
    run_at bigint not null,
    attempted_at bigint,
    finished_at bigint not null,
    flags integer not null,
    claim integer not null,
    attempt integer not null,
    queue text collate "C" not null,
    kind text collate "C" not null,
    server text
);
CREATE INDEX failed_kind ON failed USING btree (kind, finished_at, id);
CREATE INDEX failed_list ON failed USING btree (finished_at, id);
CREATE INDEX failed_queue ON failed USING btree (queue, finished_at, id);
CREATE UNIQUE INDEX failed_pkey ON failed USING btree (id);

table history (
    id bigint not null,
    at bigint not null,
    started_at bigint,
    seq integer not null,
    attempt integer not null,
    state text not null,
    reason text not null,
    server text not null,
    actor text not null,
    error text not null,
    trace text not null
);
CREATE UNIQUE INDEX history_pkey ON history USING btree (id, seq);

table jobs (
    id bigint not null,
    created_at bigint not null,
    timeout bigint not null,
    max_attempts integer not null,
    flags integer not null,
    priority smallint not null,
    queue text not null,
    kind text not null,
    deadline bigint,
    batch_id bigint,
    after_batch bigint,
    limit_key text collate "C",
    unique_key bytea,
    recurring_id text collate "C",
    parents bigint[],
    title text,
    tags text,
    meta text,
    args bytea not null
) with (autovacuum_vacuum_insert_scale_factor=0.1, autovacuum_vacuum_scale_factor=0.05);
CREATE INDEX jobs_after_batch ON jobs USING btree (after_batch, id) WHERE (after_batch > 0);
CREATE INDEX jobs_batch ON jobs USING btree (batch_id, id) WHERE (batch_id > 0);
CREATE INDEX jobs_limit ON jobs USING btree (limit_key, id) WHERE (limit_key <> ''::text);
CREATE INDEX jobs_recurring ON jobs USING btree (recurring_id, id) WHERE (recurring_id <> ''::text);
CREATE UNIQUE INDEX jobs_pkey ON jobs USING btree (id);

table leaders (
    acquired_at bigint not null,
    renewed_at bigint not null,
    expires_at bigint not null,
    name text collate "C" not null,
    holder text not null
) with (fillfactor=50);
CREATE UNIQUE INDEX leaders_pkey ON leaders USING btree (name);

table lease (
    id bigint not null,
    run_at bigint not null,
    attempted_at bigint not null,
    flags integer not null,
    claim integer not null,
    attempt integer not null,
    cancel boolean not null default false,
    server text not null
) with (autovacuum_analyze_scale_factor=0, autovacuum_analyze_threshold=100000, autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=10000);
CREATE UNIQUE INDEX lease_pkey ON lease USING btree (id);

table limits (
    tat bigint not null,
    admit_tat bigint not null,
    per bigint not null,
    max integer not null,
    rate integer not null,
    burst integer not null,
    active integer not null,
    reserved integer not null,
    marked boolean not null,
    unused boolean not null,
    limit_key text collate "C" not null
) with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.05, fillfactor=70);
CREATE INDEX limits_marked ON limits USING btree (limit_key) WHERE marked;
CREATE INDEX limits_unused ON limits USING btree (tat) WHERE unused;
CREATE UNIQUE INDEX limits_pkey ON limits USING btree (limit_key);

table metas (
    id bigint not null,
    meta text not null
);
CREATE UNIQUE INDEX metas_pkey ON metas USING btree (id);

table migrations (
    version integer not null,
    applied_at timestamp with time zone not null,
    name text not null
);
CREATE UNIQUE INDEX migrations_pkey ON migrations USING btree (version);

table outputs (
    id bigint not null,
    output bytea not null
);
CREATE UNIQUE INDEX outputs_pkey ON outputs USING btree (id);

table progress (
    id bigint not null,
    last_seq bigint not null,
    progress integer not null
);
CREATE UNIQUE INDEX progress_pkey ON progress USING btree (id);

table queues (
    paused_at bigint not null,
    name text collate "C" not null
);
CREATE UNIQUE INDEX queues_pkey ON queues USING btree (name);

table ready (
    id bigint not null,
    run_at bigint not null,
    flags integer not null,
    claim integer not null,
    attempt integer not null,
    rank integer not null,
    queue text collate "C" not null,
    kind text collate "C" not null,
    attempted_at bigint,
    server text
) with (autovacuum_analyze_scale_factor=0, autovacuum_analyze_threshold=100000, autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=10000);
CREATE UNIQUE INDEX ready_pkey ON ready USING btree (queue, rank, id);

table recurring (
    next_run_at bigint not null,
    last_run_at bigint not null,
    last_job_id bigint not null,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    misfire integer not null,
    overlap boolean not null,
    paused boolean not null,
    id text collate "C" not null,
    grp text not null,
    spec text not null,
    location text not null,
    template text not null
);
CREATE INDEX recurring_due ON recurring USING btree (next_run_at) WHERE ((NOT paused) AND (next_run_at > 0));
CREATE UNIQUE INDEX recurring_pkey ON recurring USING btree (id);

table scheduled (
    id bigint not null,
    run_at bigint not null,
    flags integer not null,
    claim integer not null,
    attempt integer not null,
    rank integer not null,
    queue text collate "C" not null,
    kind text collate "C" not null,
    attempted_at bigint,
    server text
) with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=10000);
CREATE INDEX scheduled_due ON scheduled USING btree (run_at, id);
CREATE INDEX scheduled_queue ON scheduled USING btree (queue, run_at, id);
CREATE INDEX scheduled_retries ON scheduled USING btree (run_at, id) WHERE (attempt > 0);
CREATE UNIQUE INDEX scheduled_pkey ON scheduled USING btree (id);

table servers (
    started_at bigint not null,
    heartbeat_at bigint not null,
    pid bigint not null,
    workers integer not null,
    running integer not null,
    id text collate "C" not null,
    host text not null,
    version text not null,
    queues text not null,
    kinds text not null
) with (fillfactor=50);
CREATE UNIQUE INDEX servers_pkey ON servers USING btree (id);

table stats (
    minute bigint not null,
    succeeded bigint not null,
    failed bigint not null,
    deleted bigint not null,
    retried bigint not null,
    server text collate "C" not null
) with (fillfactor=50);
CREATE UNIQUE INDEX stats_pkey ON stats USING btree (minute, server);

table tallies (
    batch bigint not null,
    total bigint not null,
    awaiting bigint not null,
    scheduled bigint not null,
    throttled bigint not null,
    active bigint not null,
    failed bigint not null,
    succeeded bigint not null,
    deleted bigint not null,
    nested bigint not null,
    nested_finished bigint not null,
    sealed boolean not null
);
CREATE INDEX tallies_batch ON tallies USING btree (batch);

table throttled (
    id bigint not null,
    run_at bigint not null,
    flags integer not null,
    claim integer not null,
    attempt integer not null,
    rank integer not null,
    limit_key text collate "C" not null,
    queue text collate "C" not null,
    kind text collate "C" not null,
    attempted_at bigint,
    server text
) with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=10000);
CREATE INDEX throttled_list ON throttled USING btree (rank, id);
CREATE INDEX throttled_queue ON throttled USING btree (queue, rank, id);
CREATE INDEX throttled_turn ON throttled USING btree (limit_key, rank, id);
CREATE UNIQUE INDEX throttled_pkey ON throttled USING btree (id);

table totals (
    id integer not null,
    succeeded bigint not null,
    failed bigint not null,
    deleted bigint not null,
    retried bigint not null
) with (fillfactor=50);
CREATE UNIQUE INDEX totals_pkey ON totals USING btree (id);
CHECK ((id = 1));

table uniques (
    unique_key bytea not null,
    id bigint not null,
    expires_at bigint not null
);
CREATE INDEX uniques_expiry ON uniques USING btree (expires_at) WHERE (expires_at > 0);
CREATE INDEX uniques_job ON uniques USING btree (id);
CREATE UNIQUE INDEX uniques_pkey ON uniques USING btree (unique_key);
sequence batch_ids as bigint;
sequence job_ids as bigint;
