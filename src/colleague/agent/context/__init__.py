"""What a model is shown of a conversation, so that it fits: limits, cutting, pruning, compaction."""
