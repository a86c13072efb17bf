"""The loader: an installed package, its bindings, prompt, state and registry."""
