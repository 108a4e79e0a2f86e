from tests.pages.conftest import book, statements
from tests.runs.desk import at_once, desk, open_desk

__all__ = ["desk", "at_once", "book", "open_desk", "statements"]
