"""The Django app of what is known of sessions' Histories."""

from django.apps import AppConfig


class HistoryConfig(AppConfig):
    name = "viewer.history"
    label = "history"
