-- What a call is bound to besides its arguments: server, tool, launch, schema and package, as JSON.
ALTER TABLE calls ADD COLUMN target TEXT;

-- What a grant covers. Rows from before have no server and count for nothing.
ALTER TABLE grants ADD COLUMN server TEXT;
ALTER TABLE grants ADD COLUMN tool TEXT;
ALTER TABLE grants ADD COLUMN launch_digest TEXT;
ALTER TABLE grants ADD COLUMN schema_digest TEXT;
ALTER TABLE grants ADD COLUMN package_digest TEXT;
ALTER TABLE grants ADD COLUMN only_arguments TEXT NOT NULL DEFAULT '{}';
ALTER TABLE grants ADD COLUMN approval_id TEXT;
ALTER TABLE grants ADD COLUMN lapsed TEXT;

-- Entries of MCP servers that a person has accepted; any other is not started while a gateway runs.
CREATE TABLE accepted_launches (
    digest        TEXT PRIMARY KEY,
    server        TEXT NOT NULL,
    command       TEXT NOT NULL,
    accepted_at   BIGINT NOT NULL,
    accepted_by   TEXT NOT NULL
);
