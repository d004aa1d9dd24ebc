"""Kind of refusal of the API, as the table `pipeline.api.problem_types` lists them."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemType:
    """A kind of problem. Clients distinguish them by `code`.

    `about`: when it occurs. `remedy`: how a client should react. `title`: the code in words.
    `detail`: what clients read where the exception has no text, or none meant for them.
    `raised_as`: the exceptions that mean it; a subclass means the same as its nearest listed
    ancestor.
    """

    status: int
    code: str
    about: str | Promise
    remedy: str | Promise
    title: str | Promise
    detail: str | Promise = ""
    retry_after_seconds: int | None = None
    raised_as: tuple[type[Exception] | str, ...] = ()

    @property
    def slug(self) -> str:
        """Return the last part of the kind's URI."""
        return self.code.lower().replace("_", "-")

    @property
    def type(self) -> str:
        """Return the kind's URI. There is a page at it: `pipeline.api.problems`."""
        return f"/problems/{self.slug}"
