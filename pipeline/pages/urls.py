"""URLs of all pages, by area."""

from django.urls import include, path

urlpatterns = [
    path("", include("pipeline.pages.applicant.urls")),
    path("", include("pipeline.pages.company.urls")),
    path("", include("pipeline.pages.history.urls")),
    path("", include("pipeline.pages.figures.urls")),
    path("", include("pipeline.pages.files.urls")),
    path("", include("pipeline.pages.imports.urls")),
    path("", include("pipeline.pages.staff.urls")),
    path("", include("pipeline.pages.background.urls")),
    path("", include("pipeline.pages.webhooks.urls")),
]
