"""HTTP and server-sent events on one port: hooks in, answers out."""
