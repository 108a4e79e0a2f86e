"""The reference of the JSON API for people."""
