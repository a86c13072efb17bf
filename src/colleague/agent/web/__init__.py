"""What agents do on the web: fetch pages, search, browse; only at public addresses."""
