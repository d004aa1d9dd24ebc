"""URLs of exports and of files prepared in the background."""

from django.urls import path

from pipeline.pages.files import download, export

JOB = "company/jobs/<uuid:job_id>"

urlpatterns = [
    path(f"{JOB}/export/<str:what>.<str:format>", export.stream_export, name="export"),
    path(f"{JOB}/export/", download.prepare_download, name="prepare_export"),
    path("company/files/<uuid:file_id>/", download.download_stored_file, name="stored_file"),
]
