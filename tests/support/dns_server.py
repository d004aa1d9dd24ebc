"""A name server on this machine that answers for TXT records as a test tells it to."""

from __future__ import annotations

import socket
import threading

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset


class TxtServer:
    """Answers over UDP: the texts of a name, NXDOMAIN without any, or as `mode` says."""

    def __init__(self) -> None:
        self.texts: dict[str, list[str]] = {}
        self.mode = "answer"  # or "silent", "servfail", "empty"
        self.asked: list[str] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._socket.getsockname()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the server."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as waking:
            waking.sendto(b"", self.address)
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            data, sender = self._socket.recvfrom(4_096)
            if not data:
                return
            if self.mode != "silent":
                self._socket.sendto(self._answer(data), sender)

    def _answer(self, data: bytes) -> bytes:
        query = dns.message.from_wire(data)
        [question] = query.question
        name = question.name.to_text().rstrip(".")
        self.asked.append(name)
        response = dns.message.make_response(query)
        response.flags |= dns.flags.RA
        texts = self.texts.get(name, [])
        if self.mode == "servfail":
            response.set_rcode(dns.rcode.SERVFAIL)
        elif texts and self.mode == "answer":
            quoted = [" ".join(f'"{part}"' for part in text.split("|")) for text in texts]
            response.answer.append(dns.rrset.from_text(question.name, 60, "IN", "TXT", *quoted))
        elif self.mode != "empty":
            response.set_rcode(dns.rcode.NXDOMAIN)
        return response.to_wire()
