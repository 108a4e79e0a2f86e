"""Django's test client, signed in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.test import Client


def signed_in_client() -> Client:
    """A client that is signed in as the owner. Django has to be set up."""
    from django.test import Client

    client = Client()
    session = client.session
    session["signed_in"] = True
    session.save()
    client.cookies["palimpsest"] = session.session_key or ""
    return client
