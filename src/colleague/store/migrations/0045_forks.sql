-- A fork is a run that begins at a step of another one. What it took over was done by the run that is named here.
ALTER TABLE runs ADD COLUMN forked_from TEXT;
ALTER TABLE runs ADD COLUMN forked_step BIGINT;
ALTER TABLE calls ADD COLUMN taken_from TEXT;
CREATE INDEX runs_forks ON runs (forked_from, id) WHERE forked_from IS NOT NULL;
