-- The JSON schema of the arguments, so that a person's changes are checked when they are made.
ALTER TABLE approvals ADD COLUMN parameters TEXT;
