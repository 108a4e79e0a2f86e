"""The Django app for sessions' Histories."""

from django.apps import AppConfig


class HistoryConfig(AppConfig):
    name = "viewer.history"
    label = "history"
