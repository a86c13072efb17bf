-- A session that belongs to one request alone: it is in no list and in no search, and goes when its time is up.
ALTER TABLE sessions ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0;
CREATE INDEX session_items_created ON session_items (created_at);
