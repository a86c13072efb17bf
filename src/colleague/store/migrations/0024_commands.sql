-- Commands that agents started: which process each became, and how it ended. Times in milliseconds.
CREATE TABLE commands (
    id TEXT PRIMARY KEY,
    session_key TEXT NOT NULL,
    run_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    command TEXT NOT NULL,
    mark TEXT NOT NULL,
    pid BIGINT NOT NULL,
    started TEXT NOT NULL,
    machine TEXT NOT NULL,
    owner_pid BIGINT NOT NULL,
    owner_started TEXT NOT NULL,
    status TEXT NOT NULL,
    code BIGINT,
    started_at BIGINT NOT NULL,
    ended_at BIGINT
);
CREATE INDEX commands_session ON commands (session_key, started_at);
CREATE INDEX commands_run ON commands (run_id);
CREATE INDEX commands_running ON commands (started_at) WHERE status = 'running';
