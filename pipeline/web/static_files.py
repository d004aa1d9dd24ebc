"""Storage of static files under hashed names, so that caches may keep them for years."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from whitenoise.storage import CompressedManifestStaticFilesStorage  # type: ignore[import-untyped]


class HashedStaticFiles(CompressedManifestStaticFilesStorage):
    """Storage of the compressed files with hashed names that `collectstatic` puts in STATIC_ROOT.

    Files that were not collected are served from their source folders under plain names.
    """

    support_js_module_import_aggregation = True

    def stored_name(self, name: str) -> Any:
        """Return a file's hashed name, or its plain name if files were not collected."""
        return name if settings.WHITENOISE_USE_FINDERS else super().stored_name(name)
