"""Addresses of the pages that tell what happened: timeline, replay, figures, exports, my data."""

from django.urls import path

from pipeline.pages.later import later

urlpatterns = [
    path("company/jobs/<uuid:job_id>/timeline/", later, name="timeline"),
    path("company/jobs/<uuid:job_id>/verify/", later, name="verify_log"),
    path("company/jobs/<uuid:job_id>/replay/", later, name="replay"),
    path("company/jobs/<uuid:job_id>/figures/", later, name="figures"),
    path("company/jobs/<uuid:job_id>/export/<str:what>.<str:format>", later, name="export"),
    path("me/data/", later, name="my_data"),
    path("me/data/download/", later, name="my_data_download"),
    path("me/data/erase/", later, name="erase_me"),
]
