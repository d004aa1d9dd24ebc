"""Storage of static files under names made from their content, which caches may keep for years."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from whitenoise.storage import CompressedManifestStaticFilesStorage  # type: ignore[import-untyped]


class HashedStaticFiles(CompressedManifestStaticFilesStorage):
    """Compressed files with hashed names, as `collectstatic` leaves them in STATIC_ROOT.

    Files that were not collected are served from their source folders under plain names.
    """

    support_js_module_import_aggregation = True

    def stored_name(self, name: str) -> Any:
        """Return the hashed name of a file; its plain name where files were not collected."""
        return name if settings.WHITENOISE_USE_FINDERS else super().stored_name(name)
