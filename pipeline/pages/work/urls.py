"""URLs of the background work pages."""

from __future__ import annotations

from django.urls import path

from pipeline.pages.work import dead_letters, matching, schedules, tasks, types

_A = "company/work/schedules/<uuid:schedule_id>/"

urlpatterns = [
    path("company/work/", tasks.overview, name="work"),
    path("company/work/cancel/", matching.cancel_matching, name="cancel_matching"),
    path("company/work/dead/", dead_letters.dead_letters_page, name="dead_letters"),
    path("company/work/dead/replay/", dead_letters.replay_dead_letters_of_type, name="dead_replay"),
    path("company/work/dead/ticked/", dead_letters.act_on_ticked_dead_letters, name="dead_ticked"),
    path("company/work/types/", types.task_types, name="work_types"),
    path("company/work/types/<str:key>/pause/", types.pause_task_type, name="type_pause"),
    path("company/work/types/<str:key>/resume/", types.resume_task_type, name="type_resume"),
    path("company/work/schedules/", schedules.schedules, name="schedules"),
    path("company/work/schedules/new/", schedules.new_schedule, name="new_schedule"),
    path(_A, schedules.edit_schedule, name="edit_schedule"),
    path(f"{_A}history/", schedules.schedule_history, name="schedule_history"),
    path(f"{_A}run/", schedules.run_schedule, name="run_schedule"),
    path(f"{_A}switch/", schedules.switch_schedule, name="switch_schedule"),
    path(f"{_A}delete/", schedules.end_schedule, name="end_schedule"),
    path("company/work/<uuid:task_id>/", tasks.task, name="task"),
    path("company/work/<uuid:task_id>/cancel/", tasks.task_cancel, name="task_cancel"),
    path("company/work/<uuid:task_id>/run/", tasks.task_run_now, name="task_run_now"),
    path("company/work/<uuid:task_id>/replay/", tasks.task_replay, name="task_replay"),
    path("company/work/<uuid:task_id>/edit/", tasks.task_edit, name="task_edit"),
    path("company/work/<uuid:task_id>/discard/", tasks.task_discard, name="task_discard"),
]
