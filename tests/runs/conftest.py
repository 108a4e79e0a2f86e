from tests.runs.desk import at_once, desk, open_desk, small_desk
from tests.runs.misbehaving import service, use

__all__ = ["at_once", "desk", "open_desk", "service", "small_desk", "use"]
