-- What agents plan by themselves: a message to a session, once or again and again. Pauses and settled times are in
-- triggers and slots, as for every schedule.
CREATE TABLE reminders (
    agent_id      TEXT NOT NULL,
    name          TEXT NOT NULL,
    session_key   TEXT NOT NULL,
    message       TEXT NOT NULL,
    kind          TEXT NOT NULL,
    schedule      TEXT NOT NULL,
    zone          TEXT NOT NULL,
    made_by       TEXT NOT NULL,
    created_at    BIGINT NOT NULL,
    next_at       BIGINT NOT NULL,
    PRIMARY KEY (agent_id, name)
);
CREATE UNIQUE INDEX reminders_made_by ON reminders (made_by);
CREATE INDEX reminders_next ON reminders (next_at);

-- Items that are kept and that nobody is shown: the turns of regular checks that found nothing.
ALTER TABLE session_items ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0;
