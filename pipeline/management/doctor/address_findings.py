"""Findings about the site as seen from outside, at the address given with --url."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from pipeline.management.doctor.findings import Finding, found_ok, found_problem, found_warning
from pipeline.web.addresses import HEADER, sign_proxy_probe

ANSWER_SECONDS = 10
MOST_BYTES = 64_000
# Reserved for documentation (RFC 5737), so it is nobody's address.
FORGED_ADDRESS = "192.0.2.123"
_OWN_PROXIES = "Set TRUSTED_PROXIES to the network of the proxy, then restart the web servers."


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """Response of the site, and the address from which this machine asked."""

    status: int
    headers: dict[str, str]
    body: dict[str, Any]
    own_address: str


def check_address(url: str) -> Iterator[Finding]:
    """Query the site through its proxies, and check how it sees the request."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        yield found_problem(f"{url} is not an address.", "Give one like https://jobs.example.com.")
        return
    if urlsplit(settings.SITE_URL)[:2] != parts[:2]:
        yield found_warning(
            f"SITE_URL is {settings.SITE_URL}, so links in emails lead there.",
            f"Set SITE_URL to {parts.scheme}://{parts.netloc}, or check that address instead.",
        )
    try:
        forged = {HEADER: sign_proxy_probe(), "X-Forwarded-For": FORGED_ADDRESS}
        answer = probe(parts, "/health/ready", forged)
        metrics = probe(parts, "/metrics", {})
    except ssl.SSLError as error:
        yield found_problem(f"TLS fails: {error}", "Renew the certificate, or correct its chain.")
        return
    except (OSError, http.client.HTTPException) as error:
        yield found_problem(
            f"{url} does not answer: {error or type(error).__name__}",
            "Check the DNS entry, the firewall, the proxy and the web server.",
        )
        return
    yield from check_health(answer)
    if seen := answer.body.get("seen"):
        yield from check_proxies(parts, answer, seen)
    elif answer.body:
        yield found_problem(
            "The site does not accept this command's signature.",
            "Run the command with the SECRET_KEY, the release and the clock of the web servers.",
        )
    is_local = parts.hostname == "localhost" or answer.own_address.startswith(("127.", "::1"))
    if metrics.status == http.HTTPStatus.OK and not is_local:
        yield found_problem(
            "Anyone can read /metrics: the site takes the proxy's requests for local ones.",
            "Let the proxy send X-Forwarded-For and the public host name.",
        )


def probe(parts: SplitResult, path: str, headers: dict[str, str]) -> ProbeAnswer:
    """Send a GET; follow no redirect. Raises OSError or HTTPException if there is no answer."""
    host, port = parts.hostname or "", parts.port
    client: http.client.HTTPConnection
    if parts.scheme == "https":
        client = http.client.HTTPSConnection(host, port, timeout=ANSWER_SECONDS)
    else:
        client = http.client.HTTPConnection(host, port, timeout=ANSWER_SECONDS)
    try:
        client.request("GET", path, headers=headers)
        own_address = client.sock.getsockname()[0]
        response = client.getresponse()
        text = response.read(MOST_BYTES)
    finally:
        client.close()
    try:
        body = json.loads(text)
    except ValueError:
        body = {}
    named = {name.lower(): value for name, value in response.getheaders()}
    return ProbeAnswer(response.status, named, body if isinstance(body, dict) else {}, own_address)


def check_health(answer: ProbeAnswer) -> Iterator[Finding]:
    """Check the answer of /health/ready, and that browsers are told to use TLS."""
    if settings.SITE_URL.startswith("https") and not settings.SECURE_HSTS_SECONDS:
        yield found_warning(
            "Browsers are not told to use TLS only.",
            "Set SECURE_COOKIES=on, or SECURE_HSTS_SECONDS.",
        )
    if answer.status == http.HTTPStatus.OK:
        yield found_ok("The site answers and is ready.")
    elif answer.body.get("missing"):
        missing = ", ".join(map(str, answer.body["missing"]))
        yield found_problem(f"The site is not ready: {missing} missing.", "See the other lines.")
    elif answer.status == http.HTTPStatus.BAD_REQUEST:
        yield found_problem(
            "The site refuses this host name.",
            "Add it to ALLOWED_HOSTS, and let the proxy keep it.",
        )
    elif "location" in answer.headers:
        yield found_problem(
            f"The site redirects to {answer.headers['location']}.",
            "Give that address. If it is the same one, the proxy must send X-Forwarded-Proto and"
            " TRUSTED_PROXIES must name it.",
        )
    else:
        yield found_problem(
            f"/health/ready answers {answer.status}.", "Check where the proxy sends requests."
        )


def check_proxies(
    parts: SplitResult, answer: ProbeAnswer, seen: dict[str, str]
) -> Iterator[Finding]:
    """Compare the scheme and client address that the site sees with the real ones."""
    address = seen["address"]
    if seen["scheme"] != parts.scheme:
        yield found_problem(
            f"The site believes that it is reached over {seen['scheme']}, from {address}.",
            f"Let the proxy send X-Forwarded-Proto. {_OWN_PROXIES}",
        )
    if address == FORGED_ADDRESS:
        yield found_problem(
            "Clients can choose the address that the site sees, and so avoid rate limits.",
            "Let the proxy overwrite or append X-Forwarded-For, and name only proxies in"
            " TRUSTED_PROXIES. If this machine is one of them, ask from another.",
        )
    elif is_trusted_proxy(address) and address != answer.own_address:
        yield found_problem(
            f"The site sees the proxy's address, {address}: all clients share one rate limit.",
            "Let the proxy send X-Forwarded-For.",
        )
    elif address != answer.own_address and not settings.TRUSTED_PROXIES:
        yield found_warning(
            f"The site sees this machine as {address}. If that is the proxy's address, all clients"
            " share one rate limit.",
            _OWN_PROXIES,
        )
    elif seen["scheme"] == parts.scheme:
        yield found_ok(f"The site sees {seen['scheme']} and this machine's address, {address}.")


def is_trusted_proxy(address: str) -> bool:
    """Tell whether an address is in TRUSTED_PROXIES."""
    try:
        return any(ip_address(address) in network for network in settings.TRUSTED_PROXIES)
    except ValueError:
        return False
