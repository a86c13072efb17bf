"""What an agent shows beside its answer."""
