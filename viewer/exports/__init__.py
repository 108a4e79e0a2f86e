"""A session as a file to keep or to pass on: Markdown, HTML, JSON or JSON lines, of any of its views.

`source` reads the messages of a view in windows, so that a file of any length needs little memory; `markdown`, `page`
and `data` write them; `making` is what pages, API and command call. Secrets are redacted unless the caller switches
that off. The package knows no requests and no kind of store.
"""

from .making import CONTENT_TYPES, Export, Format, download, export
from .source import View

__all__ = ["CONTENT_TYPES", "Export", "Format", "View", "download", "export"]
