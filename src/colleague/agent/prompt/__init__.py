"""The system prompt of the agents that people talk to: sections, bootstrap files, and how long each is."""
