"""Chat: talking to agents and experts on the page."""
