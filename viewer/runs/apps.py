from django.apps import AppConfig


class RunsConfig(AppConfig):
    """The Django app of runs: compactions that are started on this site."""

    name = "viewer.runs"
    label = "runs"
    default_auto_field = "django.db.models.BigAutoField"
