"""Addresses of the pages that tell what happened: timeline, replay, figures, reports, exports, my
data."""

from django.urls import path

from pipeline.pages.history import (
    export,
    figures,
    files,
    my_data,
    replay,
    reports,
    timeline,
    verify,
)

JOB = "company/jobs/<uuid:job_id>"

urlpatterns = [
    path(f"{JOB}/timeline/", timeline.timeline, name="timeline"),
    path(f"{JOB}/verify/", verify.verify_log, name="verify_log"),
    path(f"{JOB}/replay/", replay.replay, name="replay"),
    path(f"{JOB}/figures/", figures.figures, name="figures"),
    path(f"{JOB}/export/<str:what>.<str:format>", export.export, name="export"),
    path(f"{JOB}/export/", files.prepare_export, name="prepare_export"),
    path("company/files/<uuid:file_id>/", files.stored_file, name="stored_file"),
    path(f"{JOB}/reports/", reports.reports, name="reports"),
    path(f"{JOB}/reports/make/", reports.make_report, name="make_report"),
    path(f"{JOB}/reports/mondays/", reports.report_schedule, name="report_schedule"),
    path(f"{JOB}/reports/<str:week>.csv", reports.report_csv, name="report_csv"),
    path(f"{JOB}/reports/<str:week>/", reports.report, name="report"),
    path("me/data/", my_data.my_data, name="my_data"),
    path("me/data/download/", my_data.download, name="my_data_download"),
    path("me/data/erase/", my_data.erase_me, name="erase_me"),
]
