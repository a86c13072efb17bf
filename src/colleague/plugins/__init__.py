"""Plugins: Python code of others that a person enabled, in this process."""
