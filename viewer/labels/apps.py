"""The Django app of labels."""

from django.apps import AppConfig


class LabelsConfig(AppConfig):
    name = "viewer.labels"
    label = "labels"
