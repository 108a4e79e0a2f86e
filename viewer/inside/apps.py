"""The Django app for what is installed into agents."""

from django.apps import AppConfig


class InsideConfig(AppConfig):
    name = "viewer.inside"
    label = "inside"
