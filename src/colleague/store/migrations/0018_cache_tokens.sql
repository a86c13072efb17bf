-- Of the tokens that went in, those that a provider had in its cache, and those that it put there.
ALTER TABLE spend ADD COLUMN cache_read_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE spend ADD COLUMN cache_write_tokens INTEGER NOT NULL DEFAULT 0;
