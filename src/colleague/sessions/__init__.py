"""Sessions: who may send, what people type at them, and what of an answer is shown."""
