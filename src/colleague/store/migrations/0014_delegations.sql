-- Work that one run handed to another session: who waits for it, and how its result gets back.
CREATE TABLE delegations (
    call_id        TEXT PRIMARY KEY,
    parent_run     TEXT NOT NULL,
    parent_session TEXT NOT NULL,
    child_session  TEXT NOT NULL,
    child_event    TEXT NOT NULL,
    child_run      TEXT,
    status         TEXT NOT NULL,
    deferred       INTEGER NOT NULL DEFAULT 0,
    timeout_ms     BIGINT,
    looked_at      BIGINT,
    looked_epoch   BIGINT,
    looked_ms      BIGINT NOT NULL DEFAULT 0,
    turn_run       TEXT,
    failure        TEXT,
    cleanup        TEXT NOT NULL DEFAULT 'keep',
    created_at     BIGINT NOT NULL,
    ended_at       BIGINT
);
CREATE INDEX delegations_parent ON delegations (parent_run);
CREATE INDEX delegations_parent_session ON delegations (parent_session, created_at);
CREATE INDEX delegations_child_session ON delegations (child_session, status);
CREATE INDEX delegations_child_run ON delegations (child_run);
CREATE INDEX delegations_child_event ON delegations (child_event);
