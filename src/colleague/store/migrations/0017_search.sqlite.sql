-- Full text of everything said. The index keeps no text of its own; its rows have numbers that VACUUM leaves alone.
CREATE TABLE search_rows (
    id           INTEGER PRIMARY KEY,
    session_key  TEXT NOT NULL,
    position     BIGINT NOT NULL,
    UNIQUE (session_key, position)
);
CREATE VIRTUAL TABLE session_search USING fts5(text, content='', tokenize='unicode61 remove_diacritics 0');
INSERT INTO search_rows (session_key, position) SELECT session_key, position FROM session_items ORDER BY created_at, session_key, position;
INSERT INTO session_search (rowid, text)
    SELECT search_rows.id, session_items.text FROM search_rows
    JOIN session_items ON session_items.session_key = search_rows.session_key AND session_items.position = search_rows.position;
CREATE TRIGGER session_items_added AFTER INSERT ON session_items BEGIN
    INSERT INTO search_rows (session_key, position) VALUES (new.session_key, new.position);
    INSERT INTO session_search (rowid, text) SELECT id, new.text FROM search_rows WHERE session_key = new.session_key AND position = new.position;
END;
CREATE TRIGGER session_items_removed AFTER DELETE ON session_items BEGIN
    INSERT INTO session_search (session_search, rowid, text) SELECT 'delete', id, old.text FROM search_rows WHERE session_key = old.session_key AND position = old.position;
    DELETE FROM search_rows WHERE session_key = old.session_key AND position = old.position;
END;
