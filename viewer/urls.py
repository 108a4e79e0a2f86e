"""The site's addresses: signing in, the JSON API, the pages."""

from django.urls import include, path

from viewer import access
from viewer.api import api
from viewer.pages.reference.views import reference

handler400 = "viewer.bad_requests.bad_request"
handler404 = "viewer.api.errors.not_found"
handler500 = "viewer.db_unavailable.failed"
urlpatterns = [
    path("sign-in/", access.sign_in_help, name="sign-in-help"),
    path("sign-in/<str:token>", access.sign_in_page, name="sign-in"),
    path("sign-out/", access.sign_out, name="sign-out"),
    path("api/v1/docs", reference, {"document": api.get_openapi_schema}, name="reference"),
    path("api/v1/", api.urls),
    path("", include("viewer.pages.urls")),
]
