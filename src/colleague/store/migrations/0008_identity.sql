-- One row: which database this is. The home remembers it, so that an emptied or exchanged one is noticed.
CREATE TABLE database_identity (id TEXT NOT NULL);
