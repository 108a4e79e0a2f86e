"""The site's addresses: signing in, the JSON API, the pages."""

from importlib.util import find_spec

from django.urls import URLPattern, URLResolver, include, path

from viewer import access
from viewer.api import api

urlpatterns: list[URLPattern | URLResolver] = [
    path("sign-in/", access.sign_in_help, name="sign-in-help"),
    path("sign-in/<str:token>", access.sign_in_page, name="sign-in"),
    path("sign-out/", access.sign_out, name="sign-out"),
    path("api/v1/", api.urls),
]
if find_spec("viewer.pages") and find_spec("viewer.pages.urls"):
    urlpatterns.append(path("", include("viewer.pages.urls")))
