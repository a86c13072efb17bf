"""What a person types. Every module here is thin, and imports what a command needs when it runs."""
