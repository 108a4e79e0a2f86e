"""What the address of a model's server may look like, wherever it is given."""

import re
from urllib.parse import urlsplit


def is_server_url(text: str) -> bool:
    """Whether it is http(s)://host[:port][/path]: without user and password, a query or a fragment."""
    if not re.fullmatch(r"https?://[^\s/@?#]+(/[^\s?#]*)?", text):
        return False
    try:
        parts = urlsplit(text)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none, brackets that are not closed
        return False
