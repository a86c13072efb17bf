"""Text of documents that are no text files: web pages, PDF and office files."""
