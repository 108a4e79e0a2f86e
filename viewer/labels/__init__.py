"""What people add to sessions, kept in this site's own database: pins, tags, notes, and views of the list they saved.

A session is known here by the name of its store and its id, as strings: nothing is read from a store, and nothing is
written into one. What an agent itself marks (its own pins) is no label: the catalog reads that.
"""
