-- Documents, tables and charts that agents show. Every version is kept; content is JSON and never run.
CREATE TABLE canvases (
    id            TEXT PRIMARY KEY,
    agent_id      TEXT NOT NULL,
    session_key   TEXT NOT NULL,
    version       INTEGER NOT NULL,
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL
);
CREATE INDEX canvases_updated ON canvases (updated_at);

CREATE TABLE canvas_versions (
    canvas_id     TEXT NOT NULL,
    version       INTEGER NOT NULL,
    title         TEXT NOT NULL,
    kind          TEXT NOT NULL,
    content       TEXT NOT NULL,
    run_id        TEXT NOT NULL,
    made_by       TEXT NOT NULL,
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (canvas_id, version)
);
CREATE UNIQUE INDEX canvas_versions_made_by ON canvas_versions (made_by);
