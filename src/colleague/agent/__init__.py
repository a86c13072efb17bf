"""The engine: thinks, acts, observes. It knows nothing of experts."""
