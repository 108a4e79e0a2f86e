from tests.runs.desk import at_once, desk, open_desk
from tests.runs.misbehaving import service, use

__all__ = ["at_once", "desk", "open_desk", "service", "use"]
