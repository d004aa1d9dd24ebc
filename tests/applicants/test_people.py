"""People are known by their address."""

from __future__ import annotations

import pytest
from django.db import IntegrityError

from applicants.models import Applicant
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_address_belongs_to_one_person() -> None:
    factories.applicant(email="ada@example.org")

    with pytest.raises(IntegrityError):
        factories.applicant(email="ada@example.org")

    assert Applicant.objects.filter(email="ada@example.org").count() == 1


def test_what_a_company_was_told_is_kept_with_the_application() -> None:
    person = factories.applicant(name="Ada")
    application = factories.application(factories.job(), person)

    Applicant.objects.filter(id=person.id).update(name="Ada King")

    assert factories.fresh(application).name == "Ada"


def test_a_person_who_has_applied_cannot_be_deleted_from_under_the_line() -> None:
    person = factories.applicant()
    factories.application(factories.job(), person)

    with pytest.raises(IntegrityError):
        Applicant.objects.filter(id=person.id).delete()
