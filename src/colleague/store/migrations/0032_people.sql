-- People who use the page. `experts` is a JSON list of those an approver is limited to, null for all.
CREATE TABLE people (
    name TEXT PRIMARY KEY,
    role TEXT NOT NULL,
    experts TEXT,
    created_at BIGINT NOT NULL,
    removed_at BIGINT
);

-- Links that are used once: to sign in, or to decide one question. Only the hash of each is kept.
CREATE TABLE links (
    hash TEXT PRIMARY KEY,
    purpose TEXT NOT NULL,
    person TEXT,
    approval_id TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT
);

-- Browsers that are signed in. Only the hash of the cookie is kept.
CREATE TABLE browsers (
    hash TEXT PRIMARY KEY,
    person TEXT NOT NULL,
    form_key TEXT NOT NULL,
    agent TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX browsers_person ON browsers (person);
