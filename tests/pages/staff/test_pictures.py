"""Pictures of members: encoded anew, shown to the team alone, and gone with the last team."""

from __future__ import annotations

from io import BytesIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from PIL import Image

from jobs.models import Company, Membership, Role, User, UserPicture
from jobs.pictures import SIDE
from jobs.team import remove_member
from tests.careers.test_logos import bomb, picture
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def member(company: Company) -> User:
    return member_of(company, Role.RECRUITER, email="recruiter@example.org")


def browser_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def send(user: User, data: bytes) -> str:
    file = SimpleUploadedFile("me.png", data, "image/png")
    answer = browser_of(user).post("/account/picture/", {"picture": file}, follow=True)
    user.refresh_from_db()
    return text_of(answer)


def address(user: User) -> str:
    return f"/account/pictures/{user.id}/{user.picture_digest}.webp"


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_a_picture_becomes_a_small_square_without_metadata(member: User, kind: str) -> None:
    exif = Image.Exif()
    exif[0x010E] = "taken at home"

    said = send(member, picture(kind, (900, 400), exif=exif))

    assert "Your picture is saved." in said
    shown = browser_of(member).get(address(member))
    assert (shown.status_code, shown["Content-Type"]) == (200, "image/webp")
    assert shown["X-Content-Type-Options"] == "nosniff"
    assert shown["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    assert "private" in shown["Cache-Control"]
    decoded = Image.open(BytesIO(shown.content))
    assert (decoded.format, decoded.size) == ("WEBP", (SIDE, SIDE))
    assert not decoded.getexif()
    assert b"taken at home" not in shown.content


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "no PNG, JPEG or WebP picture"),
        (bomb(6_000, 6_000), "at most 12 million pixels"),
        (picture("PNG", (8, 8)), "at least 16 pixels"),
        (b"\x89PNG" + bytes(2 * 2**20), "at most 2 MB"),
    ],
    ids=["svg", "bomb", "tiny", "large"],
)
def test_a_file_that_is_no_picture_of_this_kind_is_refused(
    member: User, data: bytes, said: str
) -> None:
    assert said in send(member, data)

    assert not UserPicture.objects.exists()
    assert member.picture_digest == ""


def test_colleagues_see_it_and_people_of_other_companies_do_not(
    member: User, company: Company
) -> None:
    send(member, picture("PNG"))
    colleague = member_of(company, Role.OWNER, email="owner@example.org")
    stranger = member_of(factories.company(), Role.OWNER, email="stranger@example.org")

    assert address(member) in browser_of(colleague).get("/company/team/").content.decode()
    assert browser_of(colleague).get(address(member)).status_code == 200
    assert browser_of(stranger).get(address(member)).status_code == 404
    assert Client().get(address(member)).status_code == 404
    guessed = address(member).replace(member.picture_digest, "0" * 32)
    assert browser_of(colleague).get(guessed).status_code == 404


def test_a_member_removes_it_and_its_address_is_gone(member: User) -> None:
    send(member, picture("PNG"))
    before = address(member)

    browser_of(member).post("/account/picture/", {"remove": "1"})

    assert not UserPicture.objects.exists()
    assert browser_of(member).get(before).status_code == 404
    assert "/account/pictures/" not in browser_of(member).get("/account/").content.decode()


def test_it_goes_with_the_last_team(member: User, company: Company) -> None:
    owner = member_of(company, Role.OWNER, email="owner@example.org")
    other = factories.company()
    Membership.objects.create(company=other, user=member, role=Role.VIEWER)
    send(member, picture("PNG"))
    for each in (company, other):
        assert UserPicture.objects.filter(user=member).exists()
        team = Membership.objects.get(company=each, user=member)
        remove_member(company_id=each.id, membership_id=team.id, by=owner.id)

    member.refresh_from_db()
    assert not UserPicture.objects.exists()
    assert member.picture_digest == ""


def test_it_goes_with_a_closed_account(member: User) -> None:
    send(member, picture("PNG"))

    member.is_active = False
    member.save()

    assert not UserPicture.objects.exists()


def test_an_account_in_no_team_has_none() -> None:
    alone = User.objects.create_user("alone@example.org")
    file = SimpleUploadedFile("me.png", picture("PNG"), "image/png")

    answer = browser_of(alone).post("/account/picture/", {"picture": file})

    assert answer.status_code == 404
    assert not UserPicture.objects.exists()
