"""Breaking changes between two OpenAPI documents: what a client of the old one may trip over.

`python -m tools.contract` writes the document of this code as the released contract. Do that with
a release; a test compares the code with it. It is kept, and not read from the last tag, because a
shallow clone and an archive have no tags. It holds only what is compared, with one operation or
named part a line, so that a release shows what it changes.

A response may get fields and codes; a request may get optional fields, parameters and wider limits.
Everything else is a new version.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tools import ROOT

RELEASED = ROOT / "tests" / "api" / "released" / "v1.json"
# What a document has for people and generators: no change of it breaks a client.
_NOT_COMPARED = {"description", "summary", "example", "examples", "tags", "links", "title"}
_NOT_COMPARED |= {"operationId", "security"}
# Limits that narrow what is accepted if they grow, and those that do if they shrink.
_LEAST, _MOST = ("minimum", "minLength", "minItems"), ("maximum", "maxLength", "maxItems")

Schema = dict[str, Any]


class Contract:
    """An OpenAPI document whose references can be followed."""

    def __init__(self, document: Schema) -> None:
        self.document = document

    def follow(self, part: Schema) -> Schema:
        """Return a part of the document, or what it refers to."""
        while "$ref" in part:
            found: Any = self.document
            for name in part["$ref"].removeprefix("#/").split("/"):
                found = found[name]
            part = found
        return part

    def kinds(self, schema: Schema) -> set[str]:
        """Return the JSON types that a schema allows; empty: any."""
        kinds = self.follow(schema).get("type", [])
        found = {kinds} if isinstance(kinds, str) else {*kinds}
        return found.union(*(self.kinds(each) for each in schema.get("anyOf", [])))

    def codes(self, schema: Schema) -> set[str | None]:
        """Return the codes that a schema lists, also beside others that may be added."""
        options = (self.follow(each) for each in schema.get("anyOf", []))
        return {*schema.get("enum", ())}.union(*(each.get("enum", ()) for each in options))

    def operations(self) -> dict[str, Schema]:
        """Return every operation by method and path."""
        return {
            f"{method.upper()} {path}": operation
            for path, methods in self.document["paths"].items()
            for method, operation in methods.items()
        }


def breaking_changes(old: Schema, new: Schema) -> list[str]:
    """Return every change that can break a client of the old document, in words."""
    return list(_Comparison(Contract(old), Contract(new)).of_operations())


class _Comparison:
    """Comparison of two documents. Each pair of named types is compared once a direction."""

    def __init__(self, old: Contract, new: Contract) -> None:
        self._old, self._new = old, new
        self._seen: set[tuple[str, str, bool]] = set()

    def of_operations(self) -> Iterator[str]:
        ours = self._new.operations()
        for name, before in self._old.operations().items():
            after = ours.get(name)
            if after is None:
                yield f"{name}: the operation is gone"
                continue
            yield from self._of_parameters(name, before, after)
            yield from self._of_bodies(name, before, after)
            yield from self._of_responses(name, before, after)

    def _of_parameters(self, name: str, before: Schema, after: Schema) -> Iterator[str]:
        old = {(each["in"], each["name"]): each for each in before["parameters"]}
        new = {(each["in"], each["name"]): each for each in after["parameters"]}
        for key, parameter in old.items():
            if key not in new:
                yield f"{name}: the parameter {key[1]} is gone"
            else:
                where = f"{name}?{key[1]}"
                yield from self._of_schemas(where, parameter["schema"], new[key]["schema"], True)
        for key, parameter in new.items():
            if parameter.get("required") and not old.get(key, {}).get("required"):
                yield f"{name}: the parameter {key[1]} is required now"

    def _of_bodies(self, name: str, before: Schema, after: Schema) -> Iterator[str]:
        old, new = before.get("requestBody", {}), after.get("requestBody", {})
        if new.get("required") and not old.get("required"):
            yield f"{name}: a body is required now"
        for media, content in old.get("content", {}).items():
            if media not in new.get("content", {}):
                yield f"{name}: a body of {media} is no longer accepted"
            else:
                ours = new["content"][media]["schema"]
                yield from self._of_schemas(f"{name} body", content["schema"], ours, True)

    def _of_responses(self, name: str, before: Schema, after: Schema) -> Iterator[str]:
        for status, answer in before["responses"].items():
            ours = after["responses"].get(status)
            if ours is not None:
                old, new = self._old.follow(answer), self._new.follow(ours)
                yield from self._of_answers(f"{name} {status}", old, new)
            elif status < "400":
                yield f"{name}: no longer answers {status}"

    def _of_answers(self, where: str, old: Schema, new: Schema) -> Iterator[str]:
        for code in sorted({*old.get("x-codes", ())} - {*new.get("x-codes", ())}):
            yield f"{where}: the code {code} is gone"
        for header, about in old.get("headers", {}).items():
            if self._old.follow(about).get("required") and header not in new.get("headers", {}):
                yield f"{where}: the header {header} is gone"
        for media, content in old.get("content", {}).items():
            if media in new.get("content", {}):
                ours = new["content"][media]["schema"]
                yield from self._of_schemas(where, content["schema"], ours, False)
            else:
                yield f"{where}: no longer {media}"

    def _of_schemas(self, where: str, old: Schema, new: Schema, asked: bool) -> Iterator[str]:
        """Compare what a client sends (`asked`) or gets."""
        names = old.get("$ref", ""), new.get("$ref", "")
        if all(names):
            if (*names, asked) in self._seen:
                return
            self._seen.add((*names, asked))
        old, new = self._old.follow(old), self._new.follow(new)
        if not asked and (gone := self._old.codes(old) - self._new.codes(new)):
            yield f"{where}: no longer one of {sorted(map(str, gone))}"
        yield from _of_types(where, self._old.kinds(old), self._new.kinds(new), asked)
        yield from _of_limits(where, old, new, asked)
        yield from self._of_fields(where, old, new, asked)
        if "items" in old and "items" in new:
            yield from self._of_schemas(f"{where}[]", old["items"], new["items"], asked)
        mine, yours = old.get("anyOf", []), new.get("anyOf", [])
        for first, second in zip(mine, yours, strict=False):
            yield from self._of_schemas(where, first, second, asked)

    def _of_fields(self, where: str, old: Schema, new: Schema, asked: bool) -> Iterator[str]:
        before, after = old.get("properties", {}), new.get("properties", {})
        if before and not after and "anyOf" not in new:
            yield f"{where}: its fields are gone"
        for name, schema in before.items():
            if name in after:
                yield from self._of_schemas(f"{where}.{name}", schema, after[name], asked)
            elif after:
                yield f"{where}.{name}: the field is gone"
        must, will = {*old.get("required", ())}, {*new.get("required", ())}
        for name in sorted(will - must if asked else (must - will) & after.keys()):
            yield f"{where}.{name}: {'required now' if asked else 'no longer always there'}"


def _of_types(where: str, old: set[str], new: set[str], asked: bool) -> Iterator[str]:
    if asked and new and not old <= new:
        yield f"{where}: no longer takes {', '.join(sorted(old - new)) or 'any type'}"
    if not asked and old and not new <= old:
        yield f"{where}: can be {', '.join(sorted(new - old))} now"


def _of_limits(where: str, old: Schema, new: Schema, asked: bool) -> Iterator[str]:
    """Yield narrowed limits of what a client sends, and changed formats of what it gets."""
    was, now = old.get("enum"), new.get("enum")
    if asked and was and now and not {*was} <= {*now}:
        yield f"{where}: no longer one of {sorted(map(str, {*was} - {*now}))}"
    if not asked:
        if old.get("format") != new.get("format"):
            yield f"{where}: the format {old.get('format')} became {new.get('format')}"
        return
    if now and not was:
        yield f"{where}: only certain values are accepted now"
    for name in (*_LEAST, *_MOST):
        before, after = old.get(name), new.get(name)
        tighter = max if name in _LEAST else min
        if after is not None and (before is None or tighter(before, after) != before):
            yield f"{where}: {name} {before} became {after}"
    if new.get("pattern") != old.get("pattern") and new.get("pattern"):
        yield f"{where}: the pattern changed"


def compared(document: Schema) -> Schema:
    """Return what is compared of a document."""
    named = {kind: document["components"][kind] for kind in ("headers", "responses", "schemas")}
    return {"paths": _compared(document["paths"]), "components": _compared(named)}


def _compared(part: Any) -> Any:
    """Leave out what is not compared. Fields may have such names too."""
    if isinstance(part, list):
        return [_compared(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        name: (
            {field: _compared(schema) for field, schema in value.items()}
            if name == "properties"
            else _compared(value)
        )
        for name, value in part.items()
        if name not in _NOT_COMPARED
    }


def written(part: Schema, levels: int = 3) -> str:
    """Return a document as JSON, with one line for each operation and each named part."""
    if not levels:
        return json.dumps(part, sort_keys=True)
    rows = (f"{json.dumps(name)}: {written(part[name], levels - 1)}" for name in sorted(part))
    return "{\n" + ",\n".join(rows) + "\n}"


if __name__ == "__main__":
    import django

    django.setup()
    from pipeline.api.openapi.document import build_document

    RELEASED.write_text(written(compared(build_document())) + "\n")
