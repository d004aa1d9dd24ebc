"""Pictures: uploaded ones are read with limits; those of staff accounts are kept and shown."""

from __future__ import annotations

from collections.abc import Collection
from hashlib import sha256
from io import BytesIO
from typing import IO
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _
from PIL import Image, ImageOps

from jobs.models import Membership, User, UserPicture

MOST_BYTES = 2 * 2**20
MOST_PIXELS = 12_000_000  # 48 MB while it is read
FEWEST_SIDE = 16
KINDS = ("PNG", "JPEG", "WEBP")
DIGEST_LENGTH = 32
SIDE = 192  # of the picture of an account: square, three times as large as the largest one shown


class PictureRefused(ValueError):
    """The file cannot be used as a picture. The text says why, and what to do."""


def read_picture(file: IO[bytes], size: int, *, most_side: int) -> Image.Image:
    """Return the first picture of a file of `size` bytes, upright, with transparency.

    Its size is read from its head, before anything is unpacked. A JPEG may be unpacked smaller, but
    no side gets shorter than `most_side` pixels by that. Raises PictureRefused.
    """
    if size > MOST_BYTES:
        raise PictureRefused(_("Choose a file of at most 2 MB."))
    try:
        with Image.open(file, formats=KINDS) as picture:
            if picture.width * picture.height > MOST_PIXELS:
                raise PictureRefused(_("Choose a picture of at most 12 million pixels."))
            if min(picture.size) < FEWEST_SIDE:
                raise PictureRefused(_("Choose a picture of at least 16 pixels on each side."))
            picture.draft("RGB", (most_side, most_side))  # JPEG alone: unpacks fewer pixels
            return ImageOps.exif_transpose(picture).convert("RGBA")
    except PictureRefused:
        raise
    except (OSError, SyntaxError, ValueError, EOFError, Warning, MemoryError,
            Image.DecompressionBombError):  # fmt: skip
        raise PictureRefused(
            _("This is no PNG, JPEG or WebP picture, or it is damaged. Choose another file.")
        ) from None


def encode_square(file: IO[bytes], size: int) -> bytes:
    """Return the middle of a picture as a WebP of SIDE pixels each way, without metadata.

    Raises PictureRefused.
    """
    upright = read_picture(file, size, most_side=SIDE)
    square = ImageOps.fit(upright, (SIDE, SIDE))
    white = Image.new("RGBA", square.size, "white")  # transparent places show no initials below
    written = BytesIO()
    Image.alpha_composite(white, square).convert("RGB").save(written, "WEBP", quality=85)
    return written.getvalue()


@transaction.atomic
def set_own_picture(*, user_id: UUID, file: IO[bytes], size: int) -> None:
    """Set the picture of an account, instead of its initials. Raises PictureRefused."""
    data = encode_square(file, size)
    digest = sha256(data).hexdigest()[:DIGEST_LENGTH]
    UserPicture.objects.update_or_create(user_id=user_id, defaults={"data": data})
    User.objects.filter(id=user_id).update(picture_digest=digest)


@transaction.atomic
def remove_own_picture(*, user_id: UUID) -> None:
    """Remove the picture of an account, if there is one. Its colleagues see its initials again."""
    UserPicture.objects.filter(user_id=user_id).delete()
    User.objects.filter(id=user_id).exclude(picture_digest="").update(picture_digest="")


def read_colleague_picture(companies: Collection[UUID], user_id: UUID, digest: str) -> bytes | None:
    """Return the present picture of a member of one of these companies, in one query.

    None if there is none, or another by now.
    """
    team = Membership.objects.filter(company_id__in=companies).values("user_id")
    found = UserPicture.objects.filter(user_id=user_id, user_id__in=team)
    data = found.filter(user__picture_digest=digest).values_list("data", flat=True).first()
    return None if data is None else bytes(data)
