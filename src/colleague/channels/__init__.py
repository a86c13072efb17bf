"""Ways to people: what each can do, and the tool by which agents use them."""
