"""`python -m tests.faults --rounds 100`: the campaign (`campaign`) outside of pytest."""

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "viewer.settings")
django.setup()

from .campaign import main  # noqa: E402  # our runs are Django models

sys.exit(main(sys.argv[1:]))
