"""Tokens of texts and windows of models, and what a model's responses cost."""
