"""URLs of the pages about test mode."""

from django.urls import path

from pipeline.pages.sandbox import clock, emails

urlpatterns = [
    path("company/test/", clock.clock_of_test_mode, name="test_mode"),
    path("company/test/create/", clock.create_sandbox_with_clock, name="create_sandbox"),
    path("company/test/reset/", clock.reset_test_mode, name="reset_sandbox"),
    path("company/test/clock/", clock.move_clock, name="move_clock"),
    path("company/test/emails/", emails.sandbox_emails, name="sandbox_emails"),
    path("company/test/emails/<uuid:email_id>/", emails.sandbox_email, name="sandbox_email"),
]
