-- The plugins that changed the arguments of a call before anybody judged it, separated by commas.
ALTER TABLE calls ADD COLUMN changed_by TEXT;
