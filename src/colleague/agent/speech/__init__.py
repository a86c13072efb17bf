"""Text as speech: providers, and the tool."""
