"""Talking to models: names, requests, answers, failures. The library behind it is loaded on first use."""
