"""How people use a page: with a mouse, with the keyboard alone, or without JavaScript."""

from __future__ import annotations

from typing import Literal

from playwright.sync_api import Locator, Page, expect

Way = Literal["mouse", "keyboard", "no JavaScript"]
MOST_TABS = 150
"""How often someone presses Tab before they give up."""


class Hands:
    """Uses a page in one way. Fields and buttons are found by the words that people read."""

    def __init__(self, page: Page, way: Way) -> None:
        self.page = page
        self._by_keyboard = way == "keyboard"

    def fill(self, label: str, text: str) -> None:
        """Type into a field, replacing its text."""
        field = self._field(label)
        if not self._by_keyboard:
            field.fill(text)
            return
        self._go_to(field)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(text)

    def choose(self, label: str, word: str) -> None:
        """Choose from a list."""
        field = self._field(label)
        if not self._by_keyboard:
            field.select_option(label=word)
            return
        self._go_to(field)
        self.page.keyboard.type(word)
        expect(field.locator("option:checked")).to_have_text(word)

    def press(self, name: str) -> None:
        """Press a button whose words begin like that."""
        self._use(self._control("button", name))

    def follow(self, name: str, *, exact: bool = False) -> None:
        """Follow a link."""
        self._use(self._control("link", name, exact=exact))

    def _control(
        self, role: Literal["button", "link"], name: str, *, exact: bool = False
    ) -> Locator:
        """Find a control by its words; if it is in a closed menu or part, open that."""
        menus = self.page.locator("details:not([open])")
        shown = self.page.get_by_role(role, name=name, exact=exact)
        folded = menus.get_by_role(role, name=name, exact=exact, include_hidden=True)
        shown.or_(folded).first.wait_for(state="attached")
        if not shown.count():
            self._use(folded.first.locator("xpath=ancestor::details[not(@open)]/summary"))
        return shown.first

    def _field(self, label: str) -> Locator:
        fields = self.page.locator("#main :is(input, select, textarea)")
        field = fields.and_(self.page.get_by_label(label)).first
        group = field.locator("xpath=ancestor::details[not(@open)]")
        while group.count():
            self._use(group.first.locator("> summary"))
        return field

    def _use(self, control: Locator) -> None:
        if not self._by_keyboard:
            control.click()
            return
        self._go_to(control)
        self.page.keyboard.press("Enter")

    def _go_to(self, control: Locator) -> None:
        """Press Tab until the control has the focus, and see that one can see that it has."""
        expect(control).to_be_visible()
        for _ in range(MOST_TABS):
            self.page.keyboard.press("Tab")
            if control.evaluate("one => one === document.activeElement"):
                break
        else:
            raise AssertionError(f"Tab does not reach {control}")
        outline = control.evaluate("one => getComputedStyle(one).outlineStyle")
        assert outline != "none", f"nobody sees that {control} has the focus"
