"""Commands that agents run: started, watched, bounded, and ended with everything they started."""
