-- An open inbox shows what others have just decided, whenever something changes.
CREATE INDEX approvals_decided ON approvals (decided_at);
