"""The database: every accepted event, run, message, call and approval. The exact rules are its tests."""
