"""A job in numbers."""

from __future__ import annotations

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.access import own_job
from pipeline.api.callers import caller_of
from pipeline.api.endpoint import Endpoint, tagged_answer
from pipeline.api.schema import Tag, describes
from pipeline.api.v1.serializers.outputs import summary_out
from pipeline.api.v1.serializers.summary_shapes import SummaryOut
from pipeline.domain.permissions import Action
from pipeline.stats.job_totals import figures_of


class Summary(Endpoint):
    """`/jobs/{id}/summary`"""

    @describes("get_summary", Tag.LINE, Action.READ_COMPANY, SummaryOut, tagged=True)
    def get(self, request: Request, job_id: UUID) -> Response:
        """The job in numbers, from its log; null where there is no data for one."""
        own_job(caller_of(request), job_id, Action.READ_COMPANY)
        return tagged_answer(request, summary_out(job_id, figures_of(job_id)))
