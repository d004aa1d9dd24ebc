"""Templates: fields from a closed list, limits, and their pages."""

from __future__ import annotations

import pytest
from django.test import Client

from jobs.models import Company, Role
from pipeline.correspondence import templates
from pipeline.correspondence.templates import TemplateRefused, Values
from pipeline.models import Application, MessageTemplate
from pipeline.texts.fields import UnusableText
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.pages import follow, text_of

pytestmark = pytest.mark.django_db(transaction=True)
VALUES = Values(name="Ana {job}", job="Cook", company="Acme", me="Bo")


@pytest.fixture
def bo(company: Company) -> Client:
    return browser_of(member_of(company, Role.RECRUITER, name="Bo Berg"))


def test_fields_stand_for_what_differs_and_a_value_is_no_field() -> None:
    text = "Dear {name},\n{ job } at {company}. {me}"

    assert templates.fill(text, VALUES) == "Dear Ana {job},\nCook at Acme. Bo"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{Name}", "Character 1: {Name} is not a field here. Use {name}."),
        ("Dear {name},\n  see {Link}", "Line 2, character 7: {Link} is not a field here."),
        ("{}", "Character 1: {} is not a field here. Use {name}, {job}, {company} and {me}."),
        ("{name.__class__}", "Character 1: {name.__class__} is not a field here."),
    ],
)
def test_another_field_is_refused_with_its_place(text: str, why: str) -> None:
    with pytest.raises(UnusableText) as refused:
        templates.fill(text, VALUES)

    assert str(refused.value).startswith(why)


def test_who_gave_no_name_is_called_something() -> None:
    assert templates.fill("Dear {name},", VALUES._replace(name="")) == "Dear applicant,"


def test_lone_braces_are_text() -> None:
    assert templates.fill("a } b { c", VALUES) == "a } b { c"


def test_a_company_has_so_many_and_each_name_once(company: Company) -> None:
    rows = [MessageTemplate(company=company, name=f"{n}", text="x") for n in range(49)]
    MessageTemplate.objects.bulk_create(rows)
    with pytest.raises(TemplateRefused, match="Another template has this name"):
        templates.save(company_id=company.id, name="1", text="Hi")

    last = templates.save(company_id=company.id, name="Last", text="Hi")

    with pytest.raises(TemplateRefused, match="50 templates already"):
        templates.save(company_id=company.id, name="More", text="Hi")
    templates.save(company_id=company.id, name="Last", text="Hello", template_id=last.id)
    assert MessageTemplate.objects.get(id=last.id).text == "Hello"


def test_one_is_added_used_changed_and_deleted(bo: Client, application: Application) -> None:
    path = "/company/message-templates/"
    follow(bo, path, {"name": "Invitation", "text": "Dear {name}, I am {me}."})
    row = MessageTemplate.objects.get()

    page = bo.get(f"/company/applications/{application.id}/messages/?template={row.id}")
    assert page.context["form"]["text"].value() == "Dear Ana Li, I am Bo Berg."

    follow(bo, f"{path}{row.id}/", {"name": "Invitation", "text": "Hello {name}"})
    row.refresh_from_db()
    assert row.text == "Hello {name}"
    follow(bo, f"{path}{row.id}/", {"delete": "yes"})
    assert MessageTemplate.objects.count() == 0


def test_a_wrong_field_is_refused_on_the_page_and_the_text_stays(bo: Client) -> None:
    answer = bo.post("/company/message-templates/", {"name": "A", "text": "Dear {Namen}"})

    assert answer.status_code == 422
    assert "Character 6: {Namen} is not a field here. Use {name}." in text_of(answer)
    assert MessageTemplate.objects.count() == 0


def test_another_companys_template_does_not_exist(bo: Client, company: Company) -> None:
    other = templates.save(company_id=factories.company().id, name="A", text="Secret")
    path = f"/company/message-templates/{other.id}/"

    assert bo.get(path).status_code == 404
    assert bo.post(path, {"delete": "yes"}).status_code == 404
    viewer = browser_of(member_of(company, Role.VIEWER))
    assert viewer.get("/company/message-templates/").status_code == 403
