"""URLs of a job's timeline, verification and replay."""

from django.urls import path

from pipeline.pages.history import replay, timeline, verify

JOB = "company/jobs/<uuid:job_id>"

urlpatterns = [
    path(f"{JOB}/timeline/", timeline.timeline, name="timeline"),
    path(f"{JOB}/verify/", verify.verify_log, name="verify_log"),
    path(f"{JOB}/replay/", replay.replay, name="replay"),
]
