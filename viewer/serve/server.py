"""The web server, a child of `manage.py up`: `python -m viewer.serve.server DESCRIPTOR`, of a listening socket.

Waitress, because one thread reads all requests and writes all responses. A worker thread gets a request when it is
complete and is free when its response is in a buffer, so no slow client blocks one.
"""

from __future__ import annotations

import signal
import socket
import sys
from typing import Any

import waitress

from viewer.serve import parent

OPTIONS: dict[str, Any] = {
    "threads": 8,  # a page that waits for a locked store holds one for some seconds
    "connection_limit": 400,  # with up to two temporary files each, below the usual 1,024 descriptors of a process
    "channel_timeout": 60,  # seconds in which nothing arrives, or nothing of a response is read
    "cleanup_interval": 5,  # seconds between two looks for such connections
    "max_request_header_size": 65_536,
    # Twice what Django reads (DATA_UPLOAD_MAX_MEMORY_SIZE): up to here the site refuses a body, in its own words.
    "max_request_body_size": 5_242_880,
    "inbuf_overflow": 65_536,  # of a body, then a temporary file
    "outbuf_high_watermark": 1_000_000_000,  # of an answer, in a temporary file; a thread waits beyond
    "asyncore_use_poll": True,  # select() takes no descriptor above 1,023
    "clear_untrusted_proxy_headers": False,  # `viewer.web.middleware` reads one, from named proxies only
    "ident": None,
}


def main(descriptor: int) -> None:
    """Serve until asked to end; then responses in progress have five seconds."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    parent.end_with_it()
    from viewer.web import own_database
    from viewer.wsgi import application  # it sets Django up, which takes the longest here

    own_database.keep_open()
    own_database.stay_connected()
    with socket.socket(fileno=descriptor) as listening:
        waitress.serve(application, sockets=[listening], _quiet=True, **OPTIONS)


if __name__ == "__main__":
    main(int(sys.argv[1]))
