"""Survival curves: people who still wait, or left, are not left out."""

from __future__ import annotations

import pytest

from pipeline.figures.forecast import Wait, survival_quantiles


def over(*seconds: int) -> list[Wait]:
    return [Wait(each, True) for each in seconds]


def cut_off(*seconds: int) -> list[Wait]:
    return [Wait(each, False) for each in seconds]


def test_without_anybody_cut_off_it_is_the_plain_share() -> None:
    assert survival_quantiles(over(*range(1, 11)), (0.1, 0.5, 0.8, 1.0)) == [1, 5, 8, 10]


def test_the_example_of_the_textbooks() -> None:
    # Remission under 6-MP (Freireich et al. 1963): S(6)=.857, S(10)=.753, S(13)=.690, S(23)=.448.
    waits = over(6, 6, 6, 7, 10, 13, 16, 22, 23) + cut_off(
        6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35
    )

    assert survival_quantiles(waits, (0.14, 0.24, 0.30, 0.5, 0.56)) == [6, 10, 13, 23, None]


def test_who_still_waits_makes_the_forecast_longer() -> None:
    seated = over(1, 2, 3, 4)
    everyone = seated + cut_off(4, 4, 4)

    assert survival_quantiles(seated, (0.5,)) == [2]
    assert survival_quantiles(everyone, (0.5,)) == [4]


@pytest.mark.parametrize("waits", [[], cut_off(5, 6), over(1) + cut_off(9, 9, 9)])
def test_what_the_history_does_not_reach_is_not_known(waits: list[Wait]) -> None:
    assert survival_quantiles(waits, (0.5, 0.8)) == [None, None]
