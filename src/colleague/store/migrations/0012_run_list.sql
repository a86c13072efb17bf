-- The list of runs, the newest first: of one expert, of one outcome, under way, or all, without reading the whole history.
CREATE INDEX runs_created ON runs (created_at, id);
CREATE INDEX runs_expert ON runs (expert, created_at, id);
CREATE INDEX runs_outcome ON runs (outcome, created_at, id) WHERE outcome IS NOT NULL;
CREATE INDEX runs_under_way ON runs (created_at, id) WHERE status <> 'done';
