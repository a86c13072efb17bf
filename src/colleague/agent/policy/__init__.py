"""Which tools an agent may use, and which of them ask a person first."""
