"""Addresses that webhooks may go to, and URLs that can be saved."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.domain.errors import WebhookUrlRefused
from pipeline.outgoing.addresses import checked_webhook_url, is_public_webhook_address


@pytest.fixture(autouse=True)
def public_only(settings: Any) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = False


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.255.255.254",
        "0.0.0.0",  # noqa: S104
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",  # metadata of clouds
        "100.64.0.1",  # shared by carriers
        "192.0.0.8",
        "192.0.2.1",
        "192.88.99.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "224.0.1.1",  # multicast that is global
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:93.184.216.34",  # mapped, though public
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::5db8:d822",
        "64:ff9b:1::a00:1",
        "2002:7f00:1::",
        "2002:5db8:d822::1",
        "2001:0:5ef5:79fd::1",
        "2001:db8::1",
        "3fff::1",
        "100::1",
        "fc00::1",
        "fd12:3456::1",
        "fe80::1",
        "fe80::1%eth0",
        "2606:4700::1%eth0",
        "fec0::1",
        "168.63.129.16",
        "2606:4700::5efe:10.0.0.1",
        "2606:4700::200:5efe:10.0.0.1",
        "ff02::1",
        "ff0e::1",
        "rubbish",
        "",
    ],
)
def test_nothing_inside_or_reserved_is_public(address: str) -> None:
    assert not is_public_webhook_address(address)


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "1.1.1.1", "2606:4700:4700::1111", "2a00:1450:4001::200e"]
)
def test_addresses_of_the_internet_are(address: str) -> None:
    assert is_public_webhook_address(address)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://example.org", "https://example.org/"),
        ("https://example.org:8443/a?b=c", "https://example.org:8443/a?b=c"),
        ("https://bücher.example/x", "https://xn--bcher-kva.example/x"),
        ("https://straße.example/x", "https://xn--strae-oqa.example/x"),
        (
            "https://\u0646\u0627\u0645\u0647\u200c\u0627\u06cc.com/x",
            "https://xn--mgba3gch31f060k.com/x",
        ),
        ("https://EXAMPLE.org/Path", "https://example.org/Path"),
        ("https://[2606:4700:4700::1111]/x", "https://[2606:4700:4700::1111]/x"),
    ],
)
def test_a_url_is_kept_in_one_form(given: str, kept: str) -> None:
    assert checked_webhook_url(given) == kept


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "ftp://example.org/",
        "example.org",
        "https://",
        "https://user:password@example.org/",
        "https://user@example.org/",
        "https://example.org/#fragment",
        "https://example.org/a b",
        "https://example.org/\n",
        "https://exam\u200cple.org/",
        "https://example.org/\u200c",
        "https://example.org/\x00",
        "https://example.org/ü",
        "https://example.org:0/",
        "https://example.org:22/",
        "https://example.org:80/",
        "https://example.org:5432/",
        "https://example.org:6379/",
        "https://example.org:99999/",
        "https://localhost/",
        "https://foo.localhost/",
        "https://printer.local/",
        "https://metadata.google.internal/",
        "https://intranet/",
        "https://127.0.0.1/",
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[fe80::1%25eth0]/",
        "https://10.0.0.1/",
        "https://example..org/",
        f"https://example.org/{'x' * 1_000}",
    ],
)
def test_other_urls_are_refused_with_a_reason(url: str) -> None:
    with pytest.raises(WebhookUrlRefused) as refused:
        checked_webhook_url(url)

    assert str(refused.value).startswith(("Enter a URL", "Percent-encode"))


def test_a_site_of_a_developer_takes_its_own_machine(settings: Any) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = True

    assert checked_webhook_url("http://127.0.0.1:9000") == "http://127.0.0.1:9000/"
