"""Addresses of the pages for people who apply."""

from django.urls import path

from pipeline.pages.later import later

urlpatterns = [
    path("", later, name="openings"),
    path("jobs/<uuid:job_id>/", later, name="opening"),
    path("jobs/<uuid:job_id>/apply/", later, name="apply"),
    path("code/", later, name="enter_code"),
    path("sign-in/", later, name="sign_in"),
    path("sign-out/", later, name="sign_out"),
    path("me/", later, name="dashboard"),
    path("me/applications/<uuid:application_id>/", later, name="my_application"),
    path("me/applications/<uuid:application_id>/confirm/", later, name="confirm_mine"),
    path("me/applications/<uuid:application_id>/withdraw/", later, name="withdraw_mine"),
    path("confirm/<str:token>/", later, name="confirm_offer"),
    path("dev/mail/", later, name="dev_mails"),
    path("dev/mail/<str:name>/", later, name="dev_mail"),
]
