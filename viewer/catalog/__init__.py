"""What makes lists quick: sessions in our own database. Rebuilt from the stores if lost.

`sync` brings the lines of a store up to date, a little within a request, `sync_worker` the rest in the workers;
`upsert` makes a line of what a store says (`stores.listing`), `lines` are read for lists, and `numbers` counts what
takes reading messages. `search` looks for words in messages. Nothing here is known better than by the stores, and each
row says which state of its store it was read from. It knows no request, and no kind of store.
"""
