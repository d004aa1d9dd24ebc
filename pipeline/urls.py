"""URLs of the site."""

from django.conf import settings
from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView

from pipeline.api import monitoring, problems
from pipeline.api.endpoint import NothingHereEndpoint
from pipeline.pages.careers import hosts

admin.autodiscover()

urlpatterns = [
    path("health/live", monitoring.live),
    path("health/ready", monitoring.ready),
    path("health/domain", hosts.allow_certificate),
    path("metrics", monitoring.expose),
    path("api/v1/", include("pipeline.api.v1.urls")),
    path("scim/", include("pipeline.api.scim")),
    re_path("^api/", NothingHereEndpoint.as_view()),
    path("problems/", problems.index, name="problems"),
    path("problems/<slug:slug>/", problems.show, name="problem"),
    path("problems/<slug:slug>", RedirectView.as_view(pattern_name="problem", permanent=True)),
    path("admin/", admin.site.urls),
    path("", include("pipeline.pages.urls")),
]
if settings.EMAIL_BACKEND.startswith("anymail."):  # where a provider reports bounces
    urlpatterns.insert(0, path("anymail/", include("anymail.urls")))

handler400 = "pipeline.server.error_views.bad_request"
handler403 = "pipeline.server.error_views.permission_denied"
handler404 = "pipeline.server.error_views.not_found"
handler500 = "pipeline.server.error_views.internal_error"
