"""An identity provider on this machine that answers as a test tells it to, also wrongly."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import flask
from joserfc import jwt
from joserfc.jwk import KeySet, OctKey, RSAKey
from werkzeug.serving import make_server

LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
DISCOVERY = "/.well-known/openid-configuration"
CLIENT_ID, SECRET = "next-in-line", "the client's secret"
_KEY, _OTHER_KEY = (RSAKey.generate_key(2048, {"kid": "k1"}) for _ in range(2))


@dataclass
class Provider:
    """What the provider says; `claims` beside those that each token has."""

    issuer: str = ""
    claims: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] | None = None
    discovery: dict[str, Any] = field(default_factory=dict)
    algorithm: str = "RS256"
    foreign_key: bool = False
    nonce: str = ""
    asked: list[str] = field(default_factory=list)
    token_requests: list[dict[str, str]] = field(default_factory=list)

    def token(self) -> str:
        """Return the ID token for the code."""
        now = int(time.time())
        usual = {"iss": self.issuer, "aud": CLIENT_ID, "iat": now, "exp": now + 300}
        said = usual | {"sub": "s-1", "nonce": self.nonce} | self.claims
        said = {name: value for name, value in said.items() if value is not None}
        return self._sign(said)

    def logout_token(self, **claims: Any) -> str:
        """Return a logout token for the person; `claims` replace its own, None leaves one out."""
        now = int(time.time())
        usual = {"iss": self.issuer, "aud": CLIENT_ID, "iat": now, "jti": "j-1", "sub": "s-1"}
        said = usual | {"events": {LOGOUT_EVENT: {}}} | claims
        return self._sign({name: value for name, value in said.items() if value is not None})

    def _sign(self, said: dict[str, Any]) -> str:
        key: Any = _OTHER_KEY if self.foreign_key else _KEY
        if self.algorithm == "HS256":
            key = OctKey.import_key(SECRET)
        header = {"alg": self.algorithm, "kid": "k1"}
        return jwt.encode(header, said, key, algorithms=[self.algorithm])


def build_app(provider: Provider) -> flask.Flask:
    """Return the provider's web application."""
    app = flask.Flask(__name__)
    app.before_request(lambda: provider.asked.append(flask.request.path))
    answers: dict[str, Any] = {
        DISCOVERY: lambda: _discovery(provider),
        "/keys": lambda: KeySet([_KEY]).as_dict(private=False),
        "/userinfo": lambda: provider.userinfo or {},
        f"/moved{DISCOVERY}": lambda: flask.redirect(DISCOVERY),
        f"/long{DISCOVERY}": lambda: "x" * 1_000_000,
    }
    for path, answer in answers.items():
        app.add_url_rule(path, endpoint=path, view_func=answer)

    @app.post("/token")
    def token() -> dict[str, Any]:
        provider.token_requests.append(flask.request.form.to_dict())
        return {"access_token": "a", "token_type": "Bearer", "id_token": provider.token()}

    return app


def _discovery(provider: Provider) -> dict[str, Any]:
    base = provider.issuer
    usual = {
        "issuer": base,
        "authorization_endpoint": f"{base}/authorize",
        "token_endpoint": f"{base}/token",
        "jwks_uri": f"{base}/keys",
        "end_session_endpoint": f"{base}/out",
        "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
    }
    if provider.userinfo is not None:
        usual["userinfo_endpoint"] = f"{base}/userinfo"
    return usual | provider.discovery


def start(provider: Provider) -> Any:
    """Serve a provider in a thread; its issuer is the address. `shutdown` stops it."""
    server = make_server("127.0.0.1", 0, build_app(provider), threaded=True)
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    return server


def asked_for(url: str) -> dict[str, str]:
    """Return the parameters with which a browser was sent to a provider."""
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
