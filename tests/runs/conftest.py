from tests.runs.desk import at_once, desk, open_desk

__all__ = ["at_once", "desk", "open_desk"]
