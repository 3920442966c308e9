"""What the tests of the web page share: one browser for each class, and how a reader uses the page."""

import json
import unittest

from browser import BROWSER, Browser
from mock_serve import MockServer

# Roles that a reader operates; each must say what it is.
CONTROLS = {"button", "link", "textbox", "combobox", "checkbox", "spinbutton", "listbox", "menuitem", "img", "image", "region"}


@unittest.skipUnless(BROWSER, "VOLTPILE_BROWSER does not name a Chromium")
class PageCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.browser.size(1280, 800)
        self.browser.prefer(color_scheme="light", reduced_motion="no-preference")
        self.browser.problems.clear()
        self.allowed = ()

    def tearDown(self):
        self.browser.call("Page.navigate", url="about:blank")  # a page that is left open misses its server
        problems = [p for p in self.browser.problems if not any(word in p for word in self.allowed)]
        self.assertEqual(problems, [], "the console must stay empty")

    def allow_problems(self, *words):
        """The browser itself logs failed requests: those that hold one of the words are part of this test."""
        self.allowed = words

    def start_mock(self, **options):
        mock = MockServer(**options)
        self.addCleanup(mock.close)
        return mock

    def open(self, address, ready=True):
        self.browser.open(address)
        if ready:
            self.browser.wait("document.getElementById('server').dataset.state === 'ready'", "connects")

    def send(self, text):
        self.browser.evaluate("document.getElementById('message').focus()")
        self.browser.type(text)
        self.browser.press("Enter")

    def answers(self):
        return self.browser.evaluate("[...document.querySelectorAll('.answer > .message-body')].map(e => e.textContent)")

    def wait_for_answer(self, count):
        """Waits until the conversation has so many answers and none is running. Returns the texts."""
        self.browser.wait(f"document.querySelectorAll('.answer').length === {count} && !document.querySelector('.running')"
                          " && document.getElementById('stop').hidden", f"answer {count}")
        return self.answers()

    def assert_fits(self, width):
        """At this width nothing makes the page scroll sideways."""
        self.browser.size(width, 740)
        wide = self.browser.evaluate(
            f"document.documentElement.scrollWidth > {width} || [...document.querySelectorAll('header *, main, .composer *')]"
            f".some(e => e.getBoundingClientRect().right > {width} + 0.5)")
        self.assertFalse(wide, f"wider than {width} pixels")

    def assert_controls_have_names(self):
        tree = self.browser.accessibility()
        nameless = [node for node in tree if node[0] in CONTROLS and not node[1].strip()]
        self.assertEqual(nameless, [])
        self.assertGreater(sum(role in CONTROLS for role, _, _ in tree), 5)

    def focused(self):
        return self.browser.evaluate(
            "(e => e === document.body ? 'body' : e.id || e.getAttribute('aria-label') || e.textContent.trim())(document.activeElement)")

    def tab_to(self, name, limit=40):
        """Presses Tab until the element with this id, label or text has the focus."""
        seen = []
        for _ in range(limit):
            self.browser.press("Tab")
            seen.append(self.focused())
            if seen[-1] == name:
                return
        self.fail(f"Tab does not reach {name}: {json.dumps(seen)}")
