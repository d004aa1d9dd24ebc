"""Requests that two servers in a row could understand in two ways, in families.

A request is sent in segments, each a piece of data of its own. What may not be taken for a request
asks for `/smuggled`, and ends within a header, so that the next request on the connection would
complete it. A request that rightly follows on the same connection asks for `/second`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

REFUSED: tuple[str, ...] = ()  # no request arrives, one answer says so, the connection ends
ASKED = ("/attack",)
BOTH = ("/attack", "/second")

SWALLOW = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\nX-Swallow: "
STORE = b"POST /smuggled HTTP/1.1\r\nHost: localhost\r\nContent-Length: 150\r\n\r\nstored="
SECOND = b"GET /second HTTP/1.1\r\nHost: localhost\r\n\r\n"


@dataclass(frozen=True)
class Ambiguous:
    """Request in segments, and the paths of the requests that the site should take it for."""

    family: str
    name: str
    segments: tuple[bytes, ...]
    paths: tuple[str, ...] = ASKED

    def __str__(self) -> str:
        return f"{self.family}: {self.name}"


def head(
    *lines: bytes,
    method: bytes = b"POST",
    target: bytes = b"/attack",
    version: bytes = b"HTTP/1.1",
    host: bytes = b"Host: localhost",
) -> bytes:
    """Return a head of these header lines."""
    first = b" ".join([method, target, version])
    return b"\r\n".join([first, *([host] if host else []), *lines, b"", b""])


def length(body: bytes) -> bytes:
    """Return the right Content-Length of a body."""
    return b"Content-Length: %d" % len(body)


def all_ambiguous() -> list[Ambiguous]:
    """Return every request of every family."""
    return [
        Ambiguous(family.__name__, name, segments, paths)
        for family in FAMILIES
        for name, segments, paths in family()
    ]


Found = Iterator[tuple[str, tuple[bytes, ...], tuple[str, ...]]]

CODINGS = (
    *(b"chunked", b"Chunked", b"CHUNKED", b" chunked", b"chunked ", b"\tchunked", b"chunked\t"),
    *(b"chunked,", b", chunked", b"identity, chunked", b"chunked, identity", b"gzip, chunked"),
    *(b"chunked, chunked", b"trailers, chunked", b"xchunked", b"chunkedx", b"chunked;q=1"),
    *(b'"chunked"', b"'chunked'", b"chunk ed", b"identity", b"deflate", b"", b"cow"),
    *(b"chunked\x0b", b"\x0cchunked", b"\x00chunked", b"chunked\xa0", b"chunked\r\n x"),
)
CHUNKS = b"0\r\n\r\n" + SWALLOW


def length_and_coding() -> Found:
    for coding in CODINGS:
        coded = b"Transfer-Encoding: " + coding
        yield f"length first, {coding!r}", (head(length(CHUNKS), coded) + CHUNKS,), REFUSED
        yield f"coding first, {coding!r}", (head(coded, length(CHUNKS)), CHUNKS), REFUSED


def coding_alone() -> Found:
    for coding in CODINGS:
        coded = b"Transfer-Encoding: " + coding
        yield f"{coding!r}", (head(coded) + CHUNKS,), REFUSED
        yield f"{coding!r} of a GET", (head(coded, method=b"GET"), CHUNKS), REFUSED


def coding_by_another_name() -> Found:
    for name in (
        *(b"Transfer-Encoding : chunked", b"Transfer-Encoding\t: chunked"),
        *(b" Transfer-Encoding: chunked", b"Transfer Encoding: chunked"),
        *(b"X: y\rTransfer-Encoding: chunked", b"Transfer-Encoding\x00: chunked"),
        *(b"Transfer-Encoding\x0b: chunked", b"\xefTransfer-Encoding: chunked"),
        *(b"TRANSFER-ENCODING: chunked", b"X: y\nTransfer-Encoding: chunked"),
        *(b"Transfer-Encoding:\r\n chunked", b"Transfer-Encoding", b": chunked"),
    ):
        is_folded = name.startswith(b" ")
        lines = (name, length(CHUNKS)) if is_folded else (length(CHUNKS), name)
        host = b"" if is_folded else b"Host: localhost"
        yield f"{name!r}", (head(*lines, host=host) + CHUNKS,), REFUSED
    for name in (b"Transfer_Encoding", b"X-Transfer-Encoding", b"Trailer", b"Content-Encoding"):
        yield f"{name!r}", (head(length(CHUNKS), name + b": chunked"), CHUNKS), ASKED


def two_lengths() -> Found:
    n = len(SWALLOW)
    for first, second in ((n, 0), (0, n), (n, n - 1), (n - 1, n), (n, n * 10)):
        lines = b"Content-Length: %d" % first, b"Content-Length: %d" % second
        yield f"{first} and {second}", (head(*lines) + SWALLOW,), REFUSED
        listed = b"Content-Length: %d, %d" % (first, second)
        yield f"list of {first} and {second}", (head(listed), SWALLOW), REFUSED
    for equal in (b"Content-Length: %d\r\nContent-Length: %d", b"Content-Length: %d, %d"):
        yield f"equal, {equal!r}", (head(equal % (n, n)), SWALLOW), ASKED


def odd_lengths() -> Found:
    for value in (
        *(b"+%d", b"-%d", b"0x%x", b"%d.0", b"%de0", b"%d;", b"%d\x00", b"%d\x0b", b"%d %d"),
        *(b"'%d'", b'"%d"', b"%d,", b",%d", b"1_%d", b"\xd9\xa5%d", b"\xef\xbc\x95%d"),
        *(b"%d" + b"9" * 40, b"", b"five", b"%d\r\n 0", b"0, %d", b"%d, x", b"%d\rX: y"),
    ):
        said = value % ((len(SWALLOW),) * value.count(b"%"))
        yield f"{value[:9]!r}", (head(b"Content-Length: " + said), SWALLOW), REFUSED
    for value in (b" %d", b"%d ", b"\t%d", b"0%d", b"000000%d"):
        said = value % len(SWALLOW)
        yield f"{value!r}", (head(b"Content-Length: " + said), SWALLOW), ASKED
    yield "none, with a body", (head(), SECOND), BOTH
    yield "0, with a body", (head(b"Content-Length: 0") + SECOND,), BOTH


def upgrades() -> Found:
    options = b"Upgrade", b"keep-alive, Upgrade", b"Upgrade, HTTP2-Settings", b"close, upgrade", b""
    for name in (b"h2c", b"websocket", b"TLS/1.2", b"anything", b"h2c, websocket", b""):
        for option in options:
            lines = (b"Connection: " + option, b"Upgrade: " + name, length(SWALLOW))
            yield f"{name!r} by {option!r}", (head(*lines), SWALLOW), ASKED
    asked = (b"Connection: Upgrade", b"Upgrade: h2c")
    for body, of_what in ((SWALLOW, "swallowing"), (STORE, "storing")):
        for lines_before in (0, 1, 50_000):
            text = b"\r\n" * lines_before + body
            what = f"{of_what} after {lines_before} empty lines"
            yield what, (head(*asked, length(text)), text), ASKED
            yield f"{what}, at once", (head(*asked, length(text)) + text,), ASKED
            pieces = text[:7], text[7:]
            yield f"{what}, in three", (head(*asked, length(text)), *pieces), ASKED
    yield "without a body", (head(*asked, method=b"GET"), SECOND), BOTH
    yield "without a body, at once", (head(*asked, method=b"GET") + SECOND,), BOTH
    yield "in chunks", (head(*asked, b"Transfer-Encoding: chunked"), CHUNKS), REFUSED
    yield "two", (head(*asked, b"Upgrade: websocket", length(SWALLOW)), SWALLOW), ASKED
    yield "HTTP/2 at once", (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", SWALLOW), REFUSED


def tunnels() -> Found:
    for target in (b"localhost:443", b"evil.example:443", b"/attack", b"*", b"http://localhost/"):
        for body in (b"", SWALLOW):
            text = head(length(body), method=b"CONNECT", target=target)
            yield f"to {target!r} with {len(body)} bytes", (text, body or SWALLOW), REFUSED


def targets() -> Found:
    for target in (
        b"http://localhost/attack",
        b"HTTP://LOCALHOST/attack",
        b"https://a.example/attack",
    ):
        yield f"{target!r}", (head(length(SWALLOW), target=target), SWALLOW), ASKED
    for target in (
        *(b"http://u@localhost/attack", b"http:/attack", b"ftp://localhost/attack", b"attack"),
        *(b"localhost:80", b"?attack", b"\\attack", b"/attack b", b"", b"/attack\t", b"/\xff"),
        *(b"/attack\x7f", b"http://", b"#", b";/attack"),
    ):
        yield f"{target!r}", (head(length(SWALLOW), target=target) + SWALLOW,), REFUSED
    yield "*", (head(method=b"OPTIONS", target=b"*"), SECOND), ("*", "/second")
    yield "two slashes", (head(target=b"//attack"), SECOND), ("//attack", "/second")


def hosts() -> Found:
    for lines in (
        *(b"", b"Host: localhost\r\nHost: localhost", b"Host: localhost\r\nHost: evil.example"),
        *(b"Host : localhost", b"Host\x00: localhost", b"Host: a\x00b", b"Ho st: localhost"),
        *(b"Host: localhost\r\nhOST: evil.example", b"X-Host: localhost", b"Host; localhost"),
    ):
        yield f"{lines!r}", (head(length(SWALLOW), host=lines), SWALLOW), REFUSED
    yield "none in HTTP/1.0", (head(length(SWALLOW), host=b"", version=b"HTTP/1.0"), SWALLOW), ASKED


def folded_lines() -> Found:
    n = length(SWALLOW)
    yield "first line", (head(b" X: y", n, host=b""), SWALLOW), REFUSED
    yield "length", (head(b"Content-Length:\r\n %d" % len(SWALLOW)), SWALLOW), ASKED
    yield "two digits", (head(n + b"\r\n\t1"), SWALLOW), REFUSED
    for text in (b"X: a\r\n Content-Length: 3", b"X: a\r\n\tTransfer-Encoding: chunked"):
        yield f"{text!r}", (head(text, n), SWALLOW), ASKED
    yield "before the host", (head(b"X: a\r\n Host: evil.example", n), SWALLOW), ASKED


def line_ends() -> Found:
    n = length(SWALLOW)
    plain = head(n)
    yield "LF everywhere", (plain.replace(b"\r\n", b"\n"), SWALLOW), ASKED
    yield "LF after the request line", (plain.replace(b"\r\n", b"\n", 1), SWALLOW), ASKED
    yield "LF before the end", (plain[:-4] + b"\n\r\n", SWALLOW), ASKED
    yield "CR everywhere", (plain.replace(b"\r\n", b"\r") + b"\r\n\r\n", SWALLOW), REFUSED
    yield "CR after the request line", (plain.replace(b"\r\n", b"\r", 1), SWALLOW), REFUSED
    for text in (b"X: a\rb", b"X: a\r\rb", b"X: \r", b"\r", b"X\r: a", b"X: a\r\r", b"X:\ra"):
        yield f"{text!r} in a head", (head(text, n), SWALLOW), REFUSED


def controls() -> Found:
    for code in (0, 10, 11, 12, 13, 32, 127, 128, 255):
        char = bytes([code])
        yield f"{code} in a name", (head(b"X" + char + b"Y: a", length(SWALLOW)), SWALLOW), REFUSED
        yield f"{code} in a method", (head(method=b"PO" + char + b"ST") + SWALLOW,), REFUSED
        yield f"{code} in a target", (head(target=b"/a" + char + b"b") + SWALLOW,), REFUSED
    for code in (0, 11, 12, 13):
        text = b"X: a" + bytes([code]) + b"b"
        yield f"{code} in a value", (head(text, length(SWALLOW)), SWALLOW), REFUSED


def versions() -> Found:
    yield "0.9", (b"GET /attack\r\n\r\n", SWALLOW), REFUSED
    yield "0.9 with a head", (b"GET /attack\r\nHost: localhost\r\n\r\n" + SWALLOW,), REFUSED
    for version in (
        *(b"HTTP/0.9", b"HTTP/1", b"HTTP/1.", b"HTTP/1.10", b"HTTP/1.2", b"HTTP/2.0", b"HTTP/2"),
        *(b"HTTP/3.0", b"http/1.1", b"HTTP/ 1.1", b"HTTP/1.1 x", b"XTTP/1.1", b"HTTP/1,1"),
        *(b"HTTPS/1.1", b"HTTP/1.1\t", b"HTTP/+1.1", b"HTTP\\1.1", b"HTTP/1.1.1", b"RTSP/1.0"),
    ):
        yield f"{version!r}", (head(length(SWALLOW), version=version), SWALLOW), REFUSED


def old_version() -> Found:
    old = b"HTTP/1.0"
    for line in (b"Connection: keep-alive", b"Connection: close", b"X: y", b"Keep-Alive: 300"):
        yield f"{line!r}", (head(line, length(b""), version=old) + SECOND,), ASKED
        lines = (line, length(SWALLOW))
        yield f"{line!r} with a body", (head(*lines, version=old), SWALLOW), ASKED
    coded = b"Transfer-Encoding: chunked"
    yield "in chunks", (head(coded, version=old), CHUNKS), REFUSED
    yield "in chunks with a length", (head(coded, length(CHUNKS), version=old), CHUNKS), REFUSED


def expectations() -> Found:
    for value in (b"100-continue", b"100-Continue", b"200-ok", b"100-continue, x", b""):
        lines = (b"Expect: " + value, length(SWALLOW))
        yield f"{value!r}", (head(*lines), SWALLOW), ASKED
        yield f"{value!r} at once", (head(*lines) + SWALLOW,), ASKED
    yield "without a body", (head(b"Expect: 100-continue") + SECOND,), BOTH
    both = b"Expect: 100-continue", b"Transfer-Encoding: chunked"
    yield "in chunks", (head(*both), CHUNKS), REFUSED


def chunks() -> Found:
    coded = head(b"Transfer-Encoding: chunked")
    for body in (
        *(b"5\r\nhello\r\n0\r\n\r\n", b"05\r\nhello\r\n0\r\n\r\n", b"0x5\r\nhello\r\n0\r\n\r\n"),
        *(b"+5\r\nhello\r\n0\r\n\r\n", b"5 \r\nhello\r\n0\r\n\r\n", b" 5\r\nhello\r\n0\r\n\r\n"),
        *(b"5\nhello\n0\n\n", b"5\rhello\r0\r\r", b"5\r\nhelloXX0\r\n\r\n", b"5\r\nhello0\r\n\r\n"),
        *(
            b"5;a=b\r\nhello\r\n0\r\n\r\n",
            b"5;a\nb\r\nhello\r\n0\r\n\r\n",
            b"5;\r\nhello\r\n0\r\n\r\n",
        ),
        *(b"5;a=" + b"b" * 9_000 + b"\r\nhello\r\n0\r\n\r\n", b"F" * 17 + b"\r\n", b"-1\r\n"),
        *(
            b"100000005\r\nhello\r\n0\r\n\r\n",
            b"5_0\r\n",
            b"\r\n0\r\n\r\n",
            b"0\r\n",
            b"00\r\n\r\n",
        ),
        *(
            b"0;x\r\n\r\n",
            b"0\n\n",
            b"0\r\r\n",
            b"5\r\nhello\r\n0\r\n\r",
            b"five\r\n",
            b"5\x00\r\n",
        ),
    ):
        yield f"{body[:24]!r}", (coded, body + SWALLOW), REFUSED
        yield f"{body[:24]!r} at once", (coded + body + SWALLOW,), REFUSED


def trailers() -> Found:
    coded = head(b"Transfer-Encoding: chunked", b"Trailer: X")
    for line in (
        *(b"X: a", b"Content-Length: 900", b"Transfer-Encoding: chunked", b"Host: evil.example"),
        *(b"Authorization: Bearer x", b" X: a", b"X", b"X : a", b"X: " + b"a" * 70_000),
        b"\r\n".join([b"a:"] * 40_000),
    ):
        yield f"{line[:24]!r}", (coded, b"0\r\n" + line + b"\r\n\r\n" + SWALLOW), REFUSED


def pipelines() -> Found:
    get = head(method=b"GET")
    post = head(length(SWALLOW)) + SWALLOW
    yield "two", (get + SECOND,), BOTH
    yield "three", (get + get + SECOND,), ("/attack", *BOTH)
    yield "a body, then another", (post + SECOND,), BOTH
    yield "in the middle of a line", (get + SECOND[:9], SECOND[9:]), BOTH
    yield "in the middle of a body", (post[:-9], post[-9:] + SECOND), BOTH
    yield "byte by byte", (*(bytes([each]) for each in head(method=b"GET")), SECOND), BOTH


def leftovers() -> Found:
    """Requests whose answer ends the connection before what follows."""
    for line in (b"Connection: close", b"Connection: keep-alive, close", b"connection: CLOSE"):
        yield f"{line!r}", (head(line, length(b"")) + SECOND,), ASKED
        yield f"{line!r} and later", (head(line, length(b"")), SECOND), ASKED
    much = b"Content-Length: 99000000"
    yield "a body that is too long", (head(much) + SWALLOW,), ASKED
    yield "a body that is too long, later", (head(much), SWALLOW), ASKED


def connection_options() -> Found:
    for name in (b"Content-Length", b"Host", b"Transfer-Encoding", b"Upgrade", b"X-Swallow"):
        lines = (b"Connection: " + name, length(SWALLOW))
        yield f"{name!r}", (head(*lines), SWALLOW), ASKED


def methods() -> Found:
    for method in (
        b"GET",
        b"HEAD",
        b"DELETE",
        b"OPTIONS",
        b"TRACE",
        b"PATCH",
        b"get",
        b"A-B",
        b"M",
    ):
        text = head(length(SWALLOW), method=method)
        yield f"{method!r} with a body", (text, SWALLOW), ASKED
        yield f"{method!r} with a body at once", (text + SWALLOW + SECOND,), BOTH
    for method in (b"", b"G ET", b"G(", b"\xffGET", b"GET,", b"GET /attack HTTP/1.1\r"):
        yield f"{method!r}", (head(length(SWALLOW), method=method), SWALLOW), REFUSED


def huge_heads() -> Found:
    long = b"a" * 100_000
    yield "target", (head(target=b"/attack?" + long) + SWALLOW,), REFUSED
    yield "value", (head(b"X: " + long) + SWALLOW,), REFUSED
    yield "name", (head(long + b": x") + SWALLOW,), REFUSED
    yield "number", (head(*[b"X: y"] * 30_000) + SWALLOW,), REFUSED
    yield "method", (head(method=long) + SWALLOW,), REFUSED
    yield "version", (head(version=b"HTTP/1.1" + long) + SWALLOW,), REFUSED


def empty_lines() -> Found:
    for text in (b"\r\n", b"\n", b"\r\n\r\n", b"\r", b" ", b"\t", b"\x00", b"\r\n" * 50_000):
        yield f"{text[:8]!r} before", (text + head(length(SWALLOW)) + SWALLOW,), REFUSED
    text = head(length(SWALLOW)) + SWALLOW
    yield "after a body", (text + b"\r\n" + SWALLOW,), ASKED


def header_lines() -> Found:
    for line in (b"no colon", b": no name", b"X Y: a", b"X(: a", b"X@: a", b'"X": a', b"{}: a"):
        yield f"{line!r}", (head(line, length(SWALLOW)), SWALLOW), REFUSED
    for line in (b"Content_Length: 3", b"Content-Length2: 3", b"X-Content-Length: 3"):
        yield f"{line!r}", (head(line, length(SWALLOW)), SWALLOW), ASKED


FAMILIES = (
    *(length_and_coding, coding_alone, coding_by_another_name, two_lengths, odd_lengths),
    *(upgrades, tunnels, targets, hosts, folded_lines, line_ends, controls, versions),
    *(old_version, expectations, chunks, trailers, pipelines, leftovers, connection_options),
    *(methods, huge_heads, empty_lines, header_lines),
)
