"""What is looked for and how hits are handed over, the same for every kind of store: `query` parses words and phrases,
`passages` cuts the places around them, `pages` are the filters of a search and the pages of its hits.
"""
