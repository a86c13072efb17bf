"""Hooks: the points at which plugins are told what happens, or may change it."""
