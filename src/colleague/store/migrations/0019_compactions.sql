-- A summary that stands for the beginning of a transcript: for everything before a place (the run's number in its lane, and the
-- position of a message in it). The messages themselves stay. `scope` is a transcript, or a run and one of its sessions.
CREATE TABLE compactions (
    scope         TEXT NOT NULL,
    number        INTEGER NOT NULL,
    run_id        TEXT NOT NULL,
    seq           BIGINT NOT NULL,
    position      BIGINT NOT NULL,
    summary       TEXT NOT NULL,
    pinned        TEXT NOT NULL DEFAULT '',
    cause         TEXT NOT NULL,
    messages      INTEGER NOT NULL,
    tokens_before BIGINT NOT NULL,
    tokens_after  BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (scope, number)
);
CREATE INDEX compactions_run ON compactions (run_id);

-- What the model was last shown in a session, in tokens of each part, as JSON.
ALTER TABLE sessions ADD COLUMN context_report TEXT;
