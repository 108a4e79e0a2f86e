"""The Django app of workspaces and their rules."""

from django.apps import AppConfig


class WorkspacesConfig(AppConfig):
    name = "viewer.workspaces"
    label = "workspaces"
