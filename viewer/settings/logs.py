"""What the site's log says."""

import logging

HOSTS_SETTING = "PALIMPSEST_ALLOWED_HOSTS"


class OwnName(logging.Filter):
    """Django's line about an unknown Host names its own setting: this site's is read from the environment."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg = str(record.msg).replace("ALLOWED_HOSTS", HOSTS_SETTING)
        record.exc_info = None  # where in Django that was found out says nothing, and the other name again
        return True
