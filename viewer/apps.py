from django.apps import AppConfig


class ViewerConfig(AppConfig):
    """The site itself: sign-in links and API tokens."""

    name = "viewer"
    default_auto_field = "django.db.models.BigAutoField"
