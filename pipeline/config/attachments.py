"""Settings of applicants' files: where they are kept, and what scans them."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from pipeline.config.env import STATE_DIR, TESTING

# A name of S3's options, as ATTACHMENT_STORAGE may have it: django-storages' own names.
_S3_OPTIONS = ("endpoint_url", "region_name", "addressing_style")
_SOCKET = re.compile(r"/.+")
_HOST_AND_PORT = re.compile(r"[^/\s]+:\d{1,5}")


def parse_storage(text: str) -> dict[str, Any]:
    """Return the entry of STORAGES for a folder or an `s3://bucket/prefix?endpoint_url=…`.

    S3's credentials come from the environment or the machine, as usual for its clients. Raises
    ImproperlyConfigured.
    """
    if not text.startswith("s3:"):
        if "://" in text:
            raise ImproperlyConfigured(
                "ATTACHMENT_STORAGE must be a folder, or like s3://bucket/prefix."
            )
        options = {
            "location": text
            or str(STATE_DIR / ("attachments-of-tests" if TESTING else "attachments")),
            "file_permissions_mode": 0o600,
            "directory_permissions_mode": 0o700,
        }
        return {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": options}
    url = urlsplit(text)
    given = dict(parse_qsl(url.query))
    if not url.hostname or (unknown := set(given) - set(_S3_OPTIONS)):
        what = f"the unknown option {min(unknown)}" if url.hostname else "no bucket"
        raise ImproperlyConfigured(
            f"ATTACHMENT_STORAGE has {what}: write s3://bucket/prefix, then perhaps"
            f" ? and {', '.join(_S3_OPTIONS)}."
        )
    options = {
        "bucket_name": url.netloc,
        "location": url.path.strip("/"),
        "file_overwrite": True,  # each key is new, so it need not look for one
        "default_acl": None,
        "max_memory_size": 2**18,  # the rest of a file that is read is on disk
        **given,
        **_s3_patience(given.get("addressing_style")),
    }
    return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}


def _s3_patience(addressing_style: str | None) -> dict[str, Any]:
    """Return the option that gives up on an absent S3 after seconds: usually, it takes minutes."""
    try:
        make_config = import_string("botocore.config.Config")  # of the extra `s3`
    except ImportError:  # the storage itself says what is missing
        return {}
    config = make_config(
        s3={"addressing_style": addressing_style},
        connect_timeout=5,
        read_timeout=20,
        retries={"total_max_attempts": 2},
    )
    return {"client_config": config}


def parse_scanner(text: str) -> str:
    """Return clamd's address: host:port, or the path of its socket. Raises ImproperlyConfigured."""
    plain = text.strip().removeprefix("tcp://").removeprefix("unix:")
    if plain and not (_SOCKET.fullmatch(plain) or _HOST_AND_PORT.fullmatch(plain)):
        raise ImproperlyConfigured(
            f"CLAMAV_ADDRESS must be host:port or the path of a socket, not {text!r}."
        )
    return plain
