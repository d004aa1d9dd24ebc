"""Extra knowledge for the fuzzer beyond the document; it loads this module by name."""

from __future__ import annotations

import re
import string
from typing import Any

import schemathesis
from hypothesis import strategies

from tests.support.closed_schemas import close_schemas

_INSIDES = re.compile(r"Traceback|File \"|psycopg|SELECT |INSERT |pipeline_|jobs_job|relation \"")
# A company reads how its own tasks failed.
_OWN_TRACEBACK = re.compile(r'"traceback":\s*"(?:[^"\\]|\\.)*"')
_WORDS = strategies.text(string.ascii_letters + string.digits, min_size=1, max_size=20)

schemathesis.openapi.format("email", strategies.builds("{}@{}.example.org".format, _WORDS, _WORDS))


@schemathesis.hook
def before_load_schema(context: Any, raw_schema: dict[str, Any]) -> None:
    """Answers are held to exactly the fields and codes that the document names."""
    close_schemas(raw_schema["components"]["schemas"])
    for methods in raw_schema["paths"].values():  # without some fields, an answer is not whole
        for operation in methods.values():
            operation["parameters"] = [
                each for each in operation["parameters"] if each["name"] != "fields"
            ]


@schemathesis.check
def the_code_is_documented(ctx: Any, response: Any, case: Any) -> None:
    """A problem's code is one of those that the operation names for that status."""
    if response.headers.get("content-type", [""])[0] != "application/problem+json":
        return
    body = response.json()
    documented = case.operation.definition.raw["responses"].get(str(response.status_code), {})
    while "$ref" in documented:
        documented = case.operation.schema.raw_schema["components"]["responses"][
            documented["$ref"].rpartition("/")[2]
        ]
    assert body["status"] == response.status_code
    assert body["code"] == body["error"]["code"]
    if response.status_code != 405:
        told = f"{response.status_code} {body['code']} is not documented: {body['detail']}"
        assert body["code"] in documented.get("x-codes", []), told


@schemathesis.check
def nothing_of_the_inside_shows(ctx: Any, response: Any, case: Any) -> None:
    """No answer holds a traceback of ours, SQL, or the names of tables."""
    assert not _INSIDES.search(_OWN_TRACEBACK.sub("", response.text))
