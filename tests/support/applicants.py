"""Browsers of applicants, and changes to their applications."""

from __future__ import annotations

from typing import Any

from django.test import Client

from applicants import tokens
from applicants.browser import KEY
from applicants.models import Applicant
from applicants.tokens import FIND_TOKEN, KnownToken
from pipeline.domain.states import Outcome
from pipeline.models import Application
from pipeline.services.leaving import remove, withdraw
from pipeline.services.turns import acknowledge
from tests.support import factories


def applicant_browser(person: Applicant) -> Client:
    """Return a browser in which a person has proved their address."""
    client = Client()
    session = client.session
    session[KEY] = str(person.id)
    session.save()
    return client


def owner_signed_in(application: Application) -> Client:
    """Return a browser of the person whose application it is."""
    return applicant_browser(Applicant.objects.get(id=application.applicant_id))


def find_token(token: str) -> KnownToken | None:
    """Return a token as the API looks it up, if it is valid."""
    return FIND_TOKEN.first(digest=tokens.digest(token))


def who(client: Client) -> str | None:
    """Return the id of the person who is signed in."""
    return client.session.get(KEY)


def mine(application: Application, act: str = "") -> str:
    """Return the address of an application's page, or of one of its actions."""
    return f"/me/applications/{application.id}/{act}"


def named(job_id: Any, name: str) -> Application:
    """Return the application to a job under that name."""
    return Application.objects.get(job_id=job_id, name=name)


def leave(application: Application) -> None:
    """Withdraw, as the applicant."""
    withdraw(application_id=application.id, actor=factories.owner_of(application))


def confirm(application: Application) -> None:
    """Confirm the offered seat, as the applicant."""
    acknowledge(application_id=application.id, actor=factories.owner_of(application))


def decide(application: Application, outcome: Outcome, **how: Any) -> None:
    """End the application, as the company."""
    remove(application_id=application.id, outcome=outcome, actor=factories.RECRUITER, **how)
