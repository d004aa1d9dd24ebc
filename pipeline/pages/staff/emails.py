"""Emails about a company's team."""

from __future__ import annotations

from django.conf import settings
from django.template.loader import render_to_string
from django.urls import reverse

from applicants.mail import post_private_email
from jobs.models import Membership, User


def tell_new_member(member: Membership, *, by: User) -> None:
    """Tell a new member by email which company and person added them, and how to sign in."""
    context = {
        "member": member,
        "by": by.email,
        "sign_in_url": settings.SITE_URL + reverse("account_request_login_code"),
    }
    text = render_to_string("staff/added_mail.txt", context)
    post_private_email(
        to=member.user.email,
        subject=f"You have joined the team of {member.company.name}",
        text=text,
    )
