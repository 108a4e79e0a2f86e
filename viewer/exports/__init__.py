"""A session as a file to keep or to hand on: Markdown, HTML, JSON or JSON lines, of any of its views."""

from .making import CONTENT_TYPES, Export, Format, download, export
from .source import View

__all__ = ["CONTENT_TYPES", "Export", "Format", "View", "download", "export"]
