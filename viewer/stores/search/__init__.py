"""Searches, the same for every kind of store: `query` parses words and phrases, `passages` cuts the text around the
matches, `pages` has the filters of a search and the pages of its hits.
"""
