-- A message that nobody has read is not delivered: it waits as 'unread', and then says who read it.
ALTER TABLE outbox ADD COLUMN read_by TEXT;
DROP INDEX outbox_open;
CREATE INDEX outbox_open ON outbox (created_at) WHERE status <> 'sent' AND status <> 'unread';
CREATE INDEX events_skipped ON events (received_at) WHERE outcome = 'skipped';
CREATE INDEX outbox_unread ON outbox (created_at) WHERE status = 'unread';
