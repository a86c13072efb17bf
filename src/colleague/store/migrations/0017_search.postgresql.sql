-- Full text of everything said. Words are parted as on SQLite: at every mark, also inside addresses and names.
-- A tsvector holds 1 MB at most, so only the beginning of a very long text is found.
CREATE FUNCTION colleague_words(said TEXT) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
    $$SELECT to_tsvector('simple', translate(left(said, 100000), '-_./\@:+#&=?~,|<>()[]{}"!*^$`', repeat(' ', 40)))$$;
CREATE INDEX session_items_words ON session_items USING gin (colleague_words(text));
