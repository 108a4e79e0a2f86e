"""The catalog makes lists quick: it keeps sessions in our own database. It is rebuilt from the stores if lost.

`sync` updates the lines of a store, a little within a request; `sync_worker` does the rest in the workers. `upsert`
makes a line from a session (`stores.listing`), `lines` reads them for lists, and `numbers` counts what requires
reading messages. `search` finds words in messages. The stores always have the correct data, and each row records which
state of its store it was read from. The package knows no requests and no kind of store.
"""
