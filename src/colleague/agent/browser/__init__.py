"""A real browser for agents, which reaches only public addresses."""
