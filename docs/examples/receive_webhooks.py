"""Receive webhooks, verify them and print them: python3 receive_webhooks.py [port]

The secret of the endpoint stands in WEBHOOK_SECRET. Needs only Python 3.9 or newer. In a program of
your own, the package `standardwebhooks` does what `verified` does here.
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOLERANCE_SECONDS = 5 * 60
MOST_BYTES = 100_000


def verified(headers, body, secret):
    """Tell whether a request was signed with the secret, and lately."""
    message, sent = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not sent.isdecimal() or abs(time.time() - int(sent)) > TOLERANCE_SECONDS:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{message}.{sent}.".encode() + body, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(digest).decode()
    # While a secret is being replaced there are two signatures, and either will do.
    given = headers.get("webhook-signature", "").split()
    return any(hmac.compare_digest(each.encode(), expected.encode()) for each in given)


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections open
    seen = set()  # a real receiver keeps these ids in its database, with what it did

    def do_POST(self):
        length = int(self.headers.get("content-length") or 0)
        if length > MOST_BYTES:
            self.close_connection = True
            return self.answer(413)
        body = self.rfile.read(length)
        if not verified(self.headers, body, os.environ["WEBHOOK_SECRET"]):
            return self.answer(401)
        message = self.headers["webhook-id"]
        if message not in self.seen:  # the same event may come more than once
            print(json.dumps({"id": message, **json.loads(body)}), flush=True)
            self.seen.add(message)  # after the work: if that fails, the next attempt does it
        return self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 9000
    server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    print(f"Listening on http://127.0.0.1:{server.server_port}", file=sys.stderr, flush=True)
    server.serve_forever()
