"""Headers and cookies that limit what a browser does with our answers."""

from __future__ import annotations

import subprocess
import sys

import pytest
from django.test import Client

from jobs.models import User
from tests.support.environment import ROOT, process_environment


@pytest.mark.parametrize("path", ["/", "/api/v1/jobs", "/health/live", "/account/login/", "/nope"])
@pytest.mark.django_db(transaction=True)
def test_every_answer_switches_off_what_no_page_needs(path: str) -> None:
    answer = Client().get(path)

    assert "camera=()" in answer["Permissions-Policy"]
    assert "publickey-credentials-get=(self)" in answer["Permissions-Policy"]
    assert answer["Cross-Origin-Resource-Policy"] == "same-origin"


PROGRAM = """
import django
django.setup()
from django.conf import settings as s
from applicants.browser import PROVING
print(s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME, PROVING, s.SESSION_COOKIE_SECURE)
"""


@pytest.mark.faults
@pytest.mark.parametrize(("secure", "prefix"), [("on", "__Host-"), ("off", "")])
@pytest.mark.django_db(transaction=True)
def test_cookies_over_tls_are_bound_to_the_host(secure: str, prefix: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=process_environment(SECURE_COOKIES=secure),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    names = ["sessionid", "csrftoken", "address_to_prove"]
    assert run.stdout.split()[:3] == [f"{prefix}{name}" for name in names]


@pytest.mark.django_db(transaction=True)
def test_scripts_read_neither_cookie(empty_cache: None) -> None:
    User.objects.create_user("ada@example.org", "correct horse")
    client = Client()
    client.get("/account/login/")
    client.post("/account/login/", {"login": "ada@example.org", "password": "correct horse"})

    assert client.cookies["csrftoken"]["httponly"]
    assert client.cookies["sessionid"]["httponly"]
