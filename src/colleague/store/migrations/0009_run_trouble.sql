-- Why a run does not go on at the moment, and when it is tried again: JSON, null when all is well.
ALTER TABLE runs ADD COLUMN trouble TEXT;
