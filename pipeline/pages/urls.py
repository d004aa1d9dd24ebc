"""URLs of all pages, by area."""

from django.urls import include, path

from pipeline.pages import site_files

urlpatterns = [
    path("robots.txt", site_files.site_robots_file, name="robots"),
    path("sitemap.xml", site_files.site_map_file, name="sitemap"),
    path("favicon.ico", site_files.site_favicon_file, name="favicon"),
    path("manifest.webmanifest", site_files.site_manifest_file, name="manifest"),
    path("service-worker.js", site_files.site_service_worker_file, name="service_worker"),
    path(
        ".well-known/next-in-line-keys.json", site_files.site_receipt_keys_file, name="receipt_keys"
    ),
    path("icons/left-<str:mark>.svg", site_files.site_countdown_icon_file, name="left_icon"),
    path("", include("pipeline.pages.applicant.urls")),
    path("", include("pipeline.pages.company.urls")),
    path("", include("pipeline.pages.history.urls")),
    path("", include("pipeline.pages.figures.urls")),
    path("", include("pipeline.pages.files.urls")),
    path("", include("pipeline.pages.imports.urls")),
    path("", include("pipeline.pages.staff.urls")),
    path("", include("pipeline.pages.background.urls")),
    path("", include("pipeline.pages.webhooks.urls")),
    path("", include("pipeline.pages.sandbox.urls")),
    path("", include("pipeline.pages.demo.urls")),
]
