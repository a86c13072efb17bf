-- A session lives on between its runs: one row for what is known of it, one item for each thing that people saw in it.
CREATE TABLE sessions (
    key                          TEXT PRIMARY KEY,
    id                           TEXT NOT NULL,
    agent_id                     TEXT NOT NULL,
    label                        TEXT,
    channel                      TEXT,
    chat_type                    TEXT,
    group_id                     TEXT,
    origin                       TEXT,
    spawned_by                   TEXT,
    spawn_depth                  INTEGER NOT NULL DEFAULT 0,
    provider_override            TEXT,
    model_override               TEXT,
    auth_profile_override        TEXT,
    auth_profile_override_source TEXT,
    thinking_level               TEXT,
    verbose_level                TEXT,
    reasoning_level              TEXT,
    send_policy                  TEXT,
    queue_mode                   TEXT,
    input_tokens                 BIGINT NOT NULL DEFAULT 0,
    output_tokens                BIGINT NOT NULL DEFAULT 0,
    compaction_count             INTEGER NOT NULL DEFAULT 0,
    skills_snapshot              TEXT,
    system_prompt_report         TEXT,
    positions                    BIGINT NOT NULL DEFAULT 0,
    started_at                   BIGINT NOT NULL,
    created_at                   BIGINT NOT NULL,
    updated_at                   BIGINT NOT NULL
);
CREATE UNIQUE INDEX sessions_label ON sessions (label);
CREATE INDEX sessions_updated ON sessions (updated_at, key);
CREATE INDEX sessions_spawned ON sessions (spawned_by) WHERE spawned_by IS NOT NULL;

-- Transcripts that a reset has ended; the one in use is the session's own id.
CREATE TABLE archives (
    id            TEXT PRIMARY KEY,
    session_key   TEXT NOT NULL,
    started_at    BIGINT NOT NULL,
    ended_at      BIGINT NOT NULL,
    ended_by      TEXT NOT NULL
);
CREATE INDEX archives_session ON archives (session_key, ended_at);

CREATE TABLE session_items (
    session_key   TEXT NOT NULL,
    position      BIGINT NOT NULL,
    transcript    TEXT NOT NULL,
    role          TEXT NOT NULL,
    text          TEXT NOT NULL,
    reasoning     TEXT NOT NULL DEFAULT '',
    source        TEXT NOT NULL DEFAULT '',
    attachments   TEXT,
    run_id        TEXT,
    run_position  INTEGER,
    event_id      TEXT,
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (session_key, position)
);
CREATE INDEX session_items_transcript ON session_items (transcript, position);
CREATE INDEX session_items_run ON session_items (run_id, position);

-- Messages that came while a turn was at work, each with the whole arrival that it becomes.
CREATE TABLE inbox (
    event_id      TEXT PRIMARY KEY,
    session_key   TEXT NOT NULL,
    mode          TEXT NOT NULL,
    arrival       TEXT NOT NULL,
    due_at        BIGINT NOT NULL
);
CREATE INDEX inbox_session ON inbox (session_key, event_id);

ALTER TABLE runs ADD COLUMN transcript TEXT;
ALTER TABLE runs ADD COLUMN parent_run TEXT;
CREATE INDEX runs_transcript ON runs (transcript, seq) WHERE transcript IS NOT NULL;
CREATE INDEX runs_parent ON runs (parent_run) WHERE parent_run IS NOT NULL;
CREATE INDEX runs_session ON runs (session_key, id);
ALTER TABLE calls ADD COLUMN parked_from TEXT;
ALTER TABLE approvals ADD COLUMN parked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE approvals ADD COLUMN turn_run_id TEXT;
CREATE INDEX approvals_call ON approvals (call_id);
