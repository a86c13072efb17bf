"""Colleague hosts AI experts and never loses their work in silence."""

__version__ = "0.1.0"
