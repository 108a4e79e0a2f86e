"""The site's addresses: signing in, the JSON API, the MCP server, the pages."""

from django.urls import include, path

from viewer.api import api
from viewer.mcp.http import endpoint
from viewer.pages.reference.views import reference
from viewer.web import auth

handler400 = "viewer.error_pages.bad_request"
handler404 = "viewer.api.errors.not_found"
handler500 = "viewer.error_pages.failed"
urlpatterns = [
    path("sign-in/", auth.sign_in_help, name="sign-in-help"),
    path("sign-in/<str:token>", auth.sign_in_page, name="sign-in"),
    path("sign-out/", auth.sign_out, name="sign-out"),
    path("api/v1/docs", reference, {"document": api.get_openapi_schema}, name="reference"),
    path("api/v1/", api.urls),
    path("mcp", endpoint, name="mcp"),
    path("", include("viewer.pages.urls")),
]
