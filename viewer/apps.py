from django.apps import AppConfig

from viewer.web import own_database


class ViewerConfig(AppConfig):
    """The site itself: sign-in links and API tokens."""

    name = "viewer"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        own_database.watch_requests()
