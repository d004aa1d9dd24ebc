"""People are known by their address."""

from __future__ import annotations

import pytest
from django.db import IntegrityError

from applicants.models import Applicant
from tests import make

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_address_belongs_to_one_person() -> None:
    make.applicant(email="ada@example.org")

    with pytest.raises(IntegrityError):
        make.applicant(email="ada@example.org")

    assert Applicant.objects.filter(email="ada@example.org").count() == 1


def test_what_a_company_was_told_is_kept_with_the_application() -> None:
    person = make.applicant(name="Ada")
    application = make.application(make.job(), person)

    Applicant.objects.filter(id=person.id).update(name="Ada King")

    assert make.fresh(application).name == "Ada"


def test_a_person_who_has_applied_cannot_be_deleted_from_under_the_line() -> None:
    person = make.applicant()
    make.application(make.job(), person)

    with pytest.raises(IntegrityError):
        Applicant.objects.filter(id=person.id).delete()
