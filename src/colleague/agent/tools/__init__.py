"""Native tools: reading, searching and changing the files of one tree."""
