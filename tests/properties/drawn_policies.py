"""Policies and numbers of seats that random histories draw."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.properties.quiet import NONE

VALUES = {
    "acknowledgment_window_seconds": [60, 90],
    "acknowledge_first_seat": [False, True],
    "penalty_places": [0, 1, 2, 5],
    "max_decays": [0, 1, 3, None],
    "cooldown_seconds": [1, 30, 3_600],
    "max_passes": [0, 1, 2, 2],
}
# Whatever the time is, one of the first two is quiet now.
QUIET = [
    NONE | {"quiet_from": "18:00", "quiet_to": "08:00"},
    NONE | {"quiet_from": "08:00", "quiet_to": "18:00", "quiet_weekends": True},
    *[NONE] * 4,
]
policies = st.builds(
    lambda quiet, rest: rest | quiet,
    st.sampled_from(QUIET),
    st.fixed_dictionaries({name: st.sampled_from(of) for name, of in VALUES.items()}),
)
changes = st.sampled_from([{name: value} for name, of in VALUES.items() for value in of] + QUIET)
capacities = st.integers(1, 4)
