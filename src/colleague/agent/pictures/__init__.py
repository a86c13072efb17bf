"""Pictures in messages: found, checked, kept beside the transcript, and shown to models that see."""
