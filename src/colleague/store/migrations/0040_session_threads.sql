-- What is written in a thread of a channel finds the session that has the thread to itself.
CREATE INDEX sessions_group ON sessions (channel, group_id) WHERE group_id IS NOT NULL;
