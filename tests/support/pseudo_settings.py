"""Settings of a site that also speaks the pseudo-languages: `qps`, and from the right `qpb`."""

from pipeline.settings import *  # noqa: F403
from pipeline.settings import LANGUAGES
from tests.support.pseudo_language import NAMES, install

LANGUAGES = [*LANGUAGES, *NAMES.items()]
LANGUAGES_BIDI = ["ar", "he", "qpb"]

install()
