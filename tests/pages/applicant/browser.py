"""Browsers of people who apply, and what stands on the pages that they get."""

from __future__ import annotations

import html
import re
from typing import Any

from django.http import HttpResponse
from django.test import Client

from applicants.http import KEY
from applicants.models import Applicant
from pipeline.domain.states import Outcome
from pipeline.models import Application
from pipeline.services.acknowledge import acknowledge
from pipeline.services.remove import remove
from pipeline.services.withdraw import withdraw
from tests.support import factories


def signed_in(person: Applicant) -> Client:
    """A browser in which that person has proved their address."""
    client = Client()
    session = client.session
    session[KEY] = str(person.id)
    session.save()
    return client


def owner_signed_in(application: Application) -> Client:
    """A browser of the person whose application it is."""
    return signed_in(Applicant.objects.get(id=application.applicant_id))


def who(client: Client) -> str | None:
    """The id of the person whom a browser stands for."""
    return client.session.get(KEY)


def text_of(response: HttpResponse | Any) -> str:
    """What a person reads in the main part of a page, without its markup."""
    page = response.content.decode()
    main = page[page.find("<main") : page.find("</main>")] if "<main" in page else page
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", main)).split())


def mine(application: Application, act: str = "") -> str:
    """The address of an application's page, or of what is done there."""
    return f"/me/applications/{application.id}/{act}"


def leave(application: Application) -> None:
    """The applicant withdraws."""
    withdraw(application_id=application.id, actor=factories.owner_of(application))


def confirm(application: Application) -> None:
    """The applicant takes the offered seat."""
    acknowledge(application_id=application.id, actor=factories.owner_of(application))


def decide(application: Application, outcome: Outcome, **how: Any) -> None:
    """The company ends the application."""
    remove(application_id=application.id, outcome=outcome, actor=factories.RECRUITER, **how)
