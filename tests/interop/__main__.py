"""`python -m tests.interop --seeds 0-500 --schema 31`: tell random stories (`stories`) outside of pytest."""

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "viewer.settings")
django.setup()

from tests.agents.hermes.stories import main  # noqa: E402  # our runs are Django models

sys.exit(main(sys.argv[1:]))
