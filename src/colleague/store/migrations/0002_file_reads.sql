-- Which part of which text a run was shown, one row a call: a whole-file write needs all of it. The positions are
-- characters of the text.
CREATE TABLE file_reads (
    run_id        TEXT NOT NULL,
    call_id       TEXT NOT NULL,
    expert        TEXT NOT NULL,
    path          TEXT NOT NULL,
    hash          TEXT NOT NULL,
    first         BIGINT NOT NULL,
    last          BIGINT NOT NULL,
    size          BIGINT NOT NULL,
    PRIMARY KEY (run_id, call_id)
);

-- A version that is recorded and perhaps not yet in its file. `before` is the hash it replaces, '' for none.
CREATE TABLE file_pending (
    expert        TEXT NOT NULL,
    path          TEXT NOT NULL,
    version       INTEGER NOT NULL,
    before        TEXT NOT NULL,
    PRIMARY KEY (expert, path)
);

-- A call makes one version at most, however often it is sent.
CREATE UNIQUE INDEX file_versions_call ON file_versions (call_id) WHERE call_id IS NOT NULL;
