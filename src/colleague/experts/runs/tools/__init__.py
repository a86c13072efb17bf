"""Native tools of an expert: its checklist, its functions, its questions, its result."""
