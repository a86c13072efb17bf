"""From the pieces of a model's answer to what people are told."""
