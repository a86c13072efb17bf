"""Tools by which agents see, use and spawn sessions."""
