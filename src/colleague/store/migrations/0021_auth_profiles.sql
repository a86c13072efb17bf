-- How an auth profile has done, per model; an empty model stands for all of them. Times in milliseconds.
CREATE TABLE auth_profiles (
    profile TEXT NOT NULL,
    model TEXT NOT NULL,
    last_used BIGINT,
    last_good BIGINT,
    last_failed BIGINT,
    cooldown_until BIGINT,
    reason TEXT,
    error_count BIGINT NOT NULL DEFAULT 0,
    failures TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY (profile, model)
);

-- The order of a provider's profiles that a person has set for an agent: a JSON list of names.
CREATE TABLE auth_orders (
    agent_id TEXT NOT NULL,
    provider TEXT NOT NULL,
    profiles TEXT NOT NULL,
    PRIMARY KEY (agent_id, provider)
);

-- Every request to a model, answered or not: what it was made with, and what it cost.
CREATE TABLE model_requests (
    id TEXT PRIMARY KEY,
    run_id TEXT NOT NULL,
    session TEXT NOT NULL,
    turn BIGINT NOT NULL,
    model TEXT NOT NULL,
    profile TEXT NOT NULL,
    thinking TEXT NOT NULL,
    outcome TEXT NOT NULL,
    error TEXT,
    input_tokens BIGINT,
    output_tokens BIGINT,
    cost DOUBLE PRECISION,
    took_ms BIGINT NOT NULL,
    ended_at BIGINT NOT NULL
);
CREATE INDEX model_requests_run ON model_requests (run_id, id);
