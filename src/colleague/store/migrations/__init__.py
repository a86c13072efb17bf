"""Numbered SQL files, the same for SQLite and PostgreSQL."""
