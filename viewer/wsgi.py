"""What the server serves: `viewer.wsgi:application`."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "viewer.settings")

application = get_wsgi_application()
