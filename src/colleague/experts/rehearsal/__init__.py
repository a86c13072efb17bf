"""Rehearsing a package without a model: a walk through its checklists, and a report of what would happen."""
