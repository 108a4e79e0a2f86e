"""Search in messages: pages and the API call `store_search`, for a store of any kind. For stores that have no full text
of their own, `indexing` maintains an index, `index` defines its contents, `candidates` are messages that may have the
words, and `hits` reads these from the store and keeps those that do.
"""
