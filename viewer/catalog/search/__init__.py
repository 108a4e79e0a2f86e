"""Search in messages: `store_search` is what pages and the API ask, for a store of any kind. Of stores that have no
full text of their own, `indexing` keeps an index; `index` says what is in it, `candidates` are messages that may hold
the words, and `hits` reads these from the store and keeps those that do.
"""
