"""What is open, in lines for a terminal: `manage.py stores`, and the start of `manage.py up`."""

from collections.abc import Iterator

from viewer.stores.base import Store
from viewer.stores.errors import StoreError
from viewer.stores.registry import all_stores, open_store, remarks


def lines() -> Iterator[str]:
    """One line per store: name, path, schema, sessions, whether it can compact or why not."""
    stores = all_stores()
    width = max(len(store.name) for store in stores)
    for store in stores:
        yield f"{store.name:<{width}}  {store.place}  {_state(store)}"


def _state(store: Store) -> str:
    try:
        with open_store(store) as reader:
            able, refusal, finds = reader.capabilities(), reader.refusal(None), reader.offers_text
    except StoreError as problem:
        return f"not open: {problem.message}"
    sessions = f"{able.sessions:,} session{'' if able.sessions == 1 else 's'}"
    search = "" if able.search or finds else ", no full-text search"
    compacts = f"cannot compact: {refusal.message}" if refusal else "can compact"
    schema = f"schema {able.schema}, " if able.schema is not None else ""
    return " ".join([f"{schema}{sessions}{search}, {compacts}", *remarks(store)])
