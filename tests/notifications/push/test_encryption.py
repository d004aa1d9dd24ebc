"""Messages to browsers are encrypted as RFC 8291 says, so that the push service reads nothing."""

from __future__ import annotations

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec

from pipeline.notifications.devices import USUAL_BYTES, encrypt_push_message
from tests.support.push import Browser, encoded, raw

# The example of RFC 8291, section 5 and appendix A.
TEXT = b"When I grow up, I want to be a watermelon"
SENDERS_KEY = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
BROWSERS_KEY = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
BROWSERS_PUBLIC_KEY = (
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcx aOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
)
SECRET, SALT = "BTBZMqHH6r4Tts7J_aSIgg", "DGv6ra1nlYgDCS1FRnbzlw"
MESSAGE = """
DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6Tlz
AC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN
"""


def _key(text: str) -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(raw(text)), ec.SECP256R1())


def test_the_example_of_the_rfc_comes_out_byte_by_byte() -> None:
    made = encrypt_push_message(
        TEXT,
        public_key=raw(BROWSERS_PUBLIC_KEY),
        secret=raw(SECRET),
        usual_bytes=0,
        salt=raw(SALT),
        key=_key(SENDERS_KEY),
    )

    assert encoded(made) == encoded(raw(MESSAGE))


def test_the_browser_of_the_tests_reads_the_example_of_the_rfc() -> None:
    browser = Browser(_key(BROWSERS_KEY), raw(SECRET))

    assert browser.public_key == raw(BROWSERS_PUBLIC_KEY)
    assert browser.read(raw(MESSAGE)) == TEXT


def test_no_two_messages_are_alike_and_all_have_one_length() -> None:
    browser = Browser()
    texts = (b"a", b"a", "a longer one, \N{SNOWMAN}".encode())

    made = [
        encrypt_push_message(text, public_key=browser.public_key, secret=b"s" * 16)
        for text in texts
    ]

    assert len(set(made)) == 3
    assert {len(each) for each in made} == {USUAL_BYTES + 16 + 86}
    assert [browser.read(each) for each in made] == [*texts]


def test_another_browser_cannot_read_it() -> None:
    browser = Browser()

    made = encrypt_push_message(b"x", public_key=browser.public_key, secret=b"s" * 16)

    with pytest.raises(InvalidTag):
        Browser().read(made)


@pytest.mark.parametrize("wrong", [b"", b"\4" * 65, b"\2" + b"\7" * 32])
def test_what_is_no_public_key_is_refused(wrong: bytes) -> None:
    with pytest.raises(ValueError, match="key"):
        encrypt_push_message(b"x", public_key=wrong, secret=b"s" * 16)


def test_a_message_fits_into_one_record_or_is_refused() -> None:
    browser = Browser()
    longest = 4_096 - 86 - 16 - 1

    made = encrypt_push_message(b"x" * longest, public_key=browser.public_key, secret=b"s" * 16)

    assert len(made) == 4_096
    with pytest.raises(ValueError, match="too long"):
        encrypt_push_message(b"x" * (longest + 1), public_key=browser.public_key, secret=b"s" * 16)
