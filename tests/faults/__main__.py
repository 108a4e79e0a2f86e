"""`python -m tests.faults --rounds 100`: the campaign (`campaign`) outside of pytest; with `beside` that of clients of
files (`beside`).
"""

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "viewer.settings")
django.setup()

from . import beside, campaign  # noqa: E402  # our runs are Django models

sys.exit(beside.main(sys.argv[2:]) if sys.argv[1:2] == ["beside"] else campaign.main(sys.argv[1:]))
