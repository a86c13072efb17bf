-- A row for many missed times stands at the last of them; the first one is here.
ALTER TABLE slots ADD COLUMN missed_from BIGINT;
