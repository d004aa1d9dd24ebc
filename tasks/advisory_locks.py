"""Numbers of all advisory locks in the database; no two may be equal."""

from __future__ import annotations

# Engine: held by the leading scheduler, and while the product creates a schedule of its own.
SCHEDULE_LEADER = 7_305_114_001
ENSURE_SCHEDULE = 7_305_114_002

# Pipeline. Turns and ids use PostgreSQL's two-number form, which cannot collide with the others.
PREPARE_DATABASE = 4_981_203
VERIFY_TURN = 5_190_447
HEAVY_READ_TURN = 5_190_448
EXTERNAL_IDS = 5_190_449
RETENTION_TURN = 7_463_001
NAME_INDEX_TURN = 7_463_002  # the SQL function pipeline_names_turn() returns it
BEGIN_FILE = 7_463_004
WEBHOOK_RUN_ENDS = 7_463_005
ARCHIVE_TURN = 7_463_006
SEED_DEMO = 4_981_204
