"""Addresses of the pages for people who apply."""

from django.urls import path

from pipeline.pages.applicant import (
    application,
    applying,
    confirm,
    dashboard,
    dev_mail,
    openings,
    signing_in,
)

_MINE = "me/applications/<uuid:application_id>/"

urlpatterns = [
    path("", openings.openings, name="openings"),
    path("jobs/<uuid:job_id>/", openings.opening, name="opening"),
    path("jobs/<uuid:job_id>/apply/", applying.apply, name="apply"),
    path("code/", signing_in.enter_code, name="enter_code"),
    path("sign-in/", signing_in.sign_in, name="sign_in"),
    path("sign-out/", signing_in.sign_out, name="sign_out"),
    path("me/", dashboard.dashboard, name="dashboard"),
    path(_MINE, application.my_application, name="my_application"),
    path(f"{_MINE}confirm/", application.confirm_mine, name="confirm_mine"),
    path(f"{_MINE}withdraw/", application.withdraw_mine, name="withdraw_mine"),
    path("confirm/", confirm.take_offer, name="take_offer"),
    path("confirm/<str:token>/", confirm.confirm_offer, name="confirm_offer"),
    path("dev/mail/", dev_mail.dev_mails, name="dev_mails"),
    path("dev/mail/<str:name>/", dev_mail.dev_mail, name="dev_mail"),
]
