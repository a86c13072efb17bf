-- What an expert's run has beyond the core. `sla` is JSON: limit_ms, breach (warn or escalate), channel.
ALTER TABLE runs ADD COLUMN dry_run INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN sla TEXT;
ALTER TABLE runs ADD COLUMN sla_breached_at BIGINT;
CREATE INDEX runs_dead ON runs (ended_at) WHERE outcome = 'dead_letter';

-- The execution log: which steps of a process are done.
CREATE TABLE steps (
    run_id        TEXT NOT NULL,
    number        INTEGER NOT NULL,
    text          TEXT NOT NULL,
    status        TEXT NOT NULL,
    note          TEXT NOT NULL DEFAULT '',
    attempt       INTEGER,
    marked_at     BIGINT,
    PRIMARY KEY (run_id, number)
);

ALTER TABLE outbox ADD COLUMN retry_at BIGINT;
