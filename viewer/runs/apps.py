from django.apps import AppConfig


class RunsConfig(AppConfig):
    """Runs: compactions asked for through this site."""

    name = "viewer.runs"
    label = "runs"
    default_auto_field = "django.db.models.BigAutoField"
