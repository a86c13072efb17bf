-- What is known of a trigger beyond its package: whether it is paused, and up to where its schedule is settled.
CREATE TABLE triggers (
    expert        TEXT NOT NULL,
    trigger_name  TEXT NOT NULL,
    paused_at     BIGINT,
    paused_by     TEXT,
    last_slot     BIGINT,
    PRIMARY KEY (expert, trigger_name)
);

-- One row for each time a schedule came round: over any number of processes, each slot is settled once.
CREATE TABLE slots (
    expert        TEXT NOT NULL,
    trigger_name  TEXT NOT NULL,
    slot          BIGINT NOT NULL,
    event_id      TEXT NOT NULL,
    settled_at    BIGINT NOT NULL,
    PRIMARY KEY (expert, trigger_name, slot)
);
CREATE INDEX slots_old ON slots (settled_at);
