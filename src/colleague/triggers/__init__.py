"""From outside to an event: webhooks and their signatures, schedules, channel messages."""
