"""Fill the database of a site that is to be killed, and print what its clients need as JSON.

python -m tests.faults.whole_site.prepare URL_OF_A_RECEIVER PEOPLE
"""

from __future__ import annotations

import json
import sys

import django

CAPACITY, SLOW_CAPACITY, SHORT_WINDOW_SECONDS = 4, 2, 60


def main(url: str, people: int) -> None:
    """Make a company with two endpoints, a busy job, and one whose offers nobody answers."""
    django.setup()
    from applicants.tokens import issue as issue_token_to_applicant
    from pipeline.webhooks.endpoints import create as create_webhook_endpoint
    from tests.support import factories

    company = factories.company().id
    endpoints = {}
    for path, types in (("all", []), ("offers", ["application.promoted"])):
        made = create_webhook_endpoint(company_id=company, url=f"{url}/{path}", types=types)
        endpoints[f"/hook/{path}"] = made[1]
    busy = factories.job(company_id=company, capacity=CAPACITY, acknowledge_first_seat=True)
    slow = factories.job(
        company_id=company,
        capacity=SLOW_CAPACITY,
        acknowledge_first_seat=True,
        acknowledgment_window_seconds=SHORT_WINDOW_SECONDS,
    )
    factories.applications(slow, 2 * SLOW_CAPACITY)
    tokens = [issue_token_to_applicant(factories.applicant()) for _ in range(people)]
    print(
        json.dumps({"busy": str(busy), "slow": str(slow), "secrets": endpoints, "tokens": tokens})
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
