"""The page for people: what waits for them, what happened, what comes next."""
