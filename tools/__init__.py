"""Programs for whoever works on the project: checks, measurements, mutants, pictures."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
