-- What people decided and changed: who, from where, what. It outlives the runs that it is about.
CREATE TABLE audit (
    id TEXT PRIMARY KEY,
    at BIGINT NOT NULL,
    who TEXT NOT NULL,
    source TEXT NOT NULL,
    address TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    expert TEXT NOT NULL,
    run_id TEXT,
    detail TEXT NOT NULL
);
CREATE INDEX audit_at ON audit (at, id);
CREATE INDEX audit_who ON audit (who, at, id);
CREATE INDEX audit_action ON audit (action, at, id);

-- The overview: how long people took to decide, and what each expert cost on each day.
CREATE INDEX approvals_decided ON approvals (decided_at, requested_at) WHERE status = 'decided';
CREATE INDEX spend_day ON spend (day, expert, input_tokens, output_tokens, cost);
