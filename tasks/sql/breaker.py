"""The circuit breaker of a type: when almost everything fails, stop trying but once a minute.

The claim passes over a type whose breaker is open, and lets one probe through each minute. Closing
by hand is `control.resume`.
"""

from __future__ import annotations

# Open the breaker of types of whose runs, at least 20 in five minutes, over 80 % have failed.
#
# What was before the breaker closed the last time does not count.
OPEN_BREAKERS = """
UPDATE tasks_tasktype k SET breaker = 'OPEN', breaker_changed_at = statement_timestamp(),
    breaker_probe_at = statement_timestamp() + interval '1 minute'
WHERE k.id = ANY(%(types)s) AND k.breaker = 'CLOSED' AND (
    SELECT sum(failed + succeeded) >= 20 AND sum(failed) > 0.8 * sum(failed + succeeded)
    FROM tasks_tasktally y
    WHERE y.type_id = k.id AND y.slot > statement_timestamp() - interval '5 minutes'
      AND (k.breaker_changed_at IS NULL OR y.slot >= k.breaker_changed_at))
RETURNING k.id
"""

# Close the breakers of types that have succeeded again.
CLOSE_BREAKERS = """
UPDATE tasks_tasktype SET breaker = 'CLOSED', breaker_changed_at = statement_timestamp(),
    breaker_probe_at = NULL
WHERE id = ANY(%(types)s) AND breaker = 'OPEN' RETURNING id
"""
