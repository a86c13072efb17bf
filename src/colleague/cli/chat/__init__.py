"""colleague chat: a conversation in a terminal, or line by line over a pipe."""
