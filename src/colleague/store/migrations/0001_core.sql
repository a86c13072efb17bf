-- Times are milliseconds since 1970. JSON is text: PostgreSQL's jsonb refuses \u0000, and such a result could
-- then never be committed.

CREATE TABLE events (
    id            TEXT PRIMARY KEY,
    expert        TEXT NOT NULL,
    trigger_name  TEXT NOT NULL,
    source        TEXT NOT NULL,
    payload       TEXT NOT NULL,
    received_at   BIGINT NOT NULL,
    duplicates    BIGINT NOT NULL DEFAULT 0,
    held          INTEGER NOT NULL DEFAULT 0,
    run_id        TEXT,
    outcome       TEXT,
    reason        TEXT,
    warning       TEXT
);
CREATE INDEX events_held ON events (expert, trigger_name, id) WHERE held = 1;
CREATE INDEX events_old ON events (received_at);

CREATE TABLE dedupe (
    expert        TEXT NOT NULL,
    trigger_name  TEXT NOT NULL,
    dedupe_key    TEXT NOT NULL,
    event_id      TEXT NOT NULL,
    expires_at    BIGINT NOT NULL,
    PRIMARY KEY (expert, trigger_name, dedupe_key)
);
CREATE INDEX dedupe_expiry ON dedupe (expires_at);

CREATE TABLE lanes (
    lane          TEXT PRIMARY KEY,
    next_seq      BIGINT NOT NULL
);

CREATE TABLE runs (
    id            TEXT PRIMARY KEY,
    event_id      TEXT,
    expert        TEXT NOT NULL,
    version       TEXT NOT NULL DEFAULT '',
    digest        TEXT NOT NULL DEFAULT '',
    process       TEXT NOT NULL DEFAULT '',
    inputs        TEXT NOT NULL DEFAULT '{}',
    session_key   TEXT NOT NULL,
    model         TEXT NOT NULL DEFAULT '',
    lane          TEXT,
    seq           BIGINT NOT NULL DEFAULT 0,
    status        TEXT NOT NULL,
    ready         INTEGER NOT NULL DEFAULT 0,
    outcome       TEXT,
    error         TEXT,
    narrative     TEXT,
    outputs       TEXT,
    attempt       INTEGER NOT NULL DEFAULT 1,
    dispatch      BIGINT NOT NULL DEFAULT 1,
    epoch         BIGINT NOT NULL DEFAULT 0,
    stalls        INTEGER NOT NULL DEFAULT 0,
    worker        TEXT,
    lease_until   BIGINT,
    working_ms    BIGINT NOT NULL DEFAULT 0,
    retry_at      BIGINT,
    created_at    BIGINT NOT NULL,
    started_at    BIGINT,
    ended_at      BIGINT
);
CREATE INDEX runs_lane ON runs (lane, seq) WHERE status <> 'done';
CREATE INDEX runs_ready ON runs (expert, id) WHERE status = 'queued' AND ready = 1;
CREATE INDEX runs_running ON runs (lease_until) WHERE status = 'running';
CREATE INDEX runs_open ON runs (expert, status) WHERE status <> 'done';
CREATE INDEX runs_ended ON runs (ended_at) WHERE status = 'done';
CREATE INDEX runs_event ON runs (event_id);

CREATE TABLE attempts (
    run_id        TEXT NOT NULL,
    number        INTEGER NOT NULL,
    started_at    BIGINT NOT NULL,
    ended_at      BIGINT,
    outcome       TEXT,
    error         TEXT,
    PRIMARY KEY (run_id, number)
);

CREATE TABLE messages (
    run_id        TEXT NOT NULL,
    session       TEXT NOT NULL,
    position      INTEGER NOT NULL,
    parent_call   TEXT,
    attempt       INTEGER NOT NULL,
    body          TEXT NOT NULL,
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (run_id, session, position)
);

CREATE TABLE calls (
    id            TEXT PRIMARY KEY,
    run_id        TEXT NOT NULL,
    session       TEXT NOT NULL,
    position      INTEGER NOT NULL,
    place         INTEGER NOT NULL,
    tool_call_id  TEXT NOT NULL,
    operation     TEXT NOT NULL,
    server        TEXT NOT NULL DEFAULT '',
    tool          TEXT NOT NULL DEFAULT '',
    tier          TEXT NOT NULL,
    arguments     TEXT NOT NULL,
    digest        TEXT NOT NULL DEFAULT '',
    repeatable    INTEGER NOT NULL DEFAULT 0,
    status        TEXT NOT NULL,
    sends         INTEGER NOT NULL DEFAULT 0,
    result        TEXT,
    is_error      INTEGER NOT NULL DEFAULT 0,
    note          TEXT,
    started_at    BIGINT,
    ended_at      BIGINT,
    UNIQUE (run_id, session, position, place)
);

CREATE TABLE sends (
    call_id       TEXT NOT NULL,
    number        INTEGER NOT NULL,
    epoch         BIGINT NOT NULL,
    started_at    BIGINT NOT NULL,
    ended_at      BIGINT,
    PRIMARY KEY (call_id, number)
);

CREATE TABLE approvals (
    id            TEXT PRIMARY KEY,
    run_id        TEXT NOT NULL,
    call_id       TEXT,
    send          INTEGER,
    kind          TEXT NOT NULL,
    expert        TEXT NOT NULL,
    operation     TEXT NOT NULL,
    arguments     TEXT NOT NULL,
    digest        TEXT NOT NULL,
    reasoning     TEXT NOT NULL DEFAULT '',
    status        TEXT NOT NULL,
    requested_at  BIGINT NOT NULL,
    expires_at    BIGINT,
    on_timeout    TEXT NOT NULL DEFAULT 'reject',
    decided_at    BIGINT,
    decided_by    TEXT,
    decision      TEXT,
    note          TEXT,
    answer        TEXT
);
CREATE INDEX approvals_run ON approvals (run_id);
CREATE INDEX approvals_pending ON approvals (requested_at) WHERE status = 'pending';

CREATE TABLE grants (
    id            TEXT PRIMARY KEY,
    expert        TEXT NOT NULL,
    operation     TEXT NOT NULL,
    run_id        TEXT,
    created_at    BIGINT NOT NULL,
    created_by    TEXT NOT NULL,
    expires_at    BIGINT,
    revoked_at    BIGINT,
    uses          INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX grants_live ON grants (expert, operation) WHERE revoked_at IS NULL;

CREATE TABLE timers (
    kind          TEXT NOT NULL,
    subject       TEXT NOT NULL,
    run_id        TEXT,
    due_at        BIGINT NOT NULL,
    PRIMARY KEY (kind, subject)
);
CREATE INDEX timers_due ON timers (due_at);

CREATE TABLE outbox (
    id            TEXT PRIMARY KEY,
    run_id        TEXT NOT NULL,
    kind          TEXT NOT NULL,
    subject       TEXT NOT NULL,
    channel       TEXT NOT NULL,
    body          TEXT NOT NULL,
    status        TEXT NOT NULL,
    sends         INTEGER NOT NULL DEFAULT 0,
    error         TEXT,
    created_at    BIGINT NOT NULL,
    sent_at       BIGINT,
    UNIQUE (run_id, kind, subject)
);
CREATE INDEX outbox_open ON outbox (created_at) WHERE status <> 'sent';

CREATE TABLE spend (
    expert        TEXT NOT NULL,
    day           TEXT NOT NULL,
    run_id        TEXT NOT NULL,
    input_tokens  BIGINT NOT NULL DEFAULT 0,
    output_tokens BIGINT NOT NULL DEFAULT 0,
    cost          DOUBLE PRECISION NOT NULL DEFAULT 0,
    tool_calls    BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (expert, day, run_id)
);
CREATE INDEX spend_run ON spend (run_id);

CREATE TABLE file_versions (
    expert        TEXT NOT NULL,
    path          TEXT NOT NULL,
    version       INTEGER NOT NULL,
    hash          TEXT NOT NULL,
    text          TEXT NOT NULL,
    run_id        TEXT,
    call_id       TEXT,
    written_at    BIGINT NOT NULL,
    PRIMARY KEY (expert, path, version)
);
