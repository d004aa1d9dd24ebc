"""URLs of the demo's shortcuts, which exist only on one's own machine."""

from django.urls import path

from pipeline.pages.demo import sign_in, story

urlpatterns = [
    path("demo/sign-in/<str:token>/", sign_in.demo_sign_in, name="demo_sign_in"),
    path("demo/jobs/<uuid:job_id>/apply-as/<slug:who>/", story.apply_as_in_story, name="apply_as"),
    path("demo/newest-email/<slug:who>/", story.newest_story_email, name="newest_story_email"),
]
