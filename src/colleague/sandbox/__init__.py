"""Sandboxes: what a session may touch, and the programs that keep it to that."""
