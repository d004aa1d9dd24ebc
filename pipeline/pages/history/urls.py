"""Addresses of the pages that tell what happened: timeline, replay, figures, exports, my data."""

from django.urls import path

from pipeline.pages.history import export, figures, my_data, replay, timeline, verify

urlpatterns = [
    path("company/jobs/<uuid:job_id>/timeline/", timeline.timeline, name="timeline"),
    path("company/jobs/<uuid:job_id>/verify/", verify.verify_log, name="verify_log"),
    path("company/jobs/<uuid:job_id>/replay/", replay.replay, name="replay"),
    path("company/jobs/<uuid:job_id>/figures/", figures.figures, name="figures"),
    path("company/jobs/<uuid:job_id>/export/<str:what>.<str:format>", export.export, name="export"),
    path("me/data/", my_data.my_data, name="my_data"),
    path("me/data/download/", my_data.download, name="my_data_download"),
    path("me/data/erase/", my_data.erase_me, name="erase_me"),
]
