-- Pushes that say only that a mailbox changed are looked up afterwards: which are open, and up to where the last one came.
CREATE INDEX events_open ON events (id) WHERE run_id IS NULL AND outcome IS NULL;
CREATE INDEX events_pushed ON events (expert, id) WHERE source = 'pubsub';
