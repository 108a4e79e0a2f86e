"""The catalog's Django app."""

from django.apps import AppConfig


class CatalogConfig(AppConfig):
    name = "viewer.catalog"
    label = "catalog"
