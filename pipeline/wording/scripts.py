"""Sentences that the scripts of pages say: pages in other languages bring them translated.

`static/js/words.js` finds each by its English text; a test compares both.
"""

from __future__ import annotations

from django.utils.translation import gettext_noop as _

PLACE = "place of the zone"  # the name of the place, beside the sentences
SENTENCES = (
    _("%(duration)s left"),
    _("%(duration)s left."),
    _("1 hour left."),
    _("1 minute left."),
    _("15 minutes left."),
    _("24 hours left."),
    _("4 hours left."),
    _("5 minutes left."),
    _("A page, a job or a person"),
    _("As of %(time)s"),
    _("As of %(time)s. Reconnecting…"),
    _("As of %(time)s. This page could not update itself."),
    _("Copied"),
    _("Find a page, a job or a person"),
    _("Less than 1 min"),
    _("Live"),
    _("Name of a page, a job or a person"),
    _("Nothing was done: the request was cancelled, or it took too long."),
    _("Open this page at localhost"),
    _("Passkeys do not work at this address."),
    _("Passkeys need a host name and HTTPS."),
    _("Pause"),
    _("Play"),
    _("Press Ctrl C to copy"),
    _("Reload"),
    _("Show what I type"),
    _("That moment could not be fetched. Try again."),
    _("The passkey could not be used. Reload the page and try again."),
    _("The server does not answer. Try again."),
    _("This device cannot make such a key."),
    _("This device has a passkey for your account already."),
    _("This page has changed for you."),
    _("Time is up."),
    _("Turn single keys off"),
    _("Turn single keys on"),
    _("You are signed out. Reload the page to sign in."),
    _("since %(time)s"),
    _("time is up"),
    _("time is up, checking…"),
    _("your time zone, %(zone)s"),
)
