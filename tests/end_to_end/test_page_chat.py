"""The chat of the web page in a headless Chromium, with a stand-in for the server that answers as each test wants."""

import json
import unittest

from page_case import PageCase

LONG = "word " * 400


class Chat(PageCase):
    def setUp(self):
        super().setUp()
        self.mock = self.start_mock()
        self.open(self.mock.address)

    def answer_with(self, *texts, **more):
        self.mock.actions += [{"text": text, **more} for text in texts]

    def press_action(self, message, name):
        """Clicks a button below a message."""
        self.browser.evaluate(f"[...document.querySelectorAll({json.dumps(message)})].at(-1).querySelectorAll('.actions button')"
                              f".forEach(b => b.textContent === {json.dumps(name)} && b.click())")

    def titles(self):
        return self.browser.evaluate("[...document.querySelectorAll('.conversation-link')].map(e => e.textContent)")

    def announced(self):
        return self.browser.text("#announcer")

    def test_streams_an_answer(self):
        self.answer_with("abcd" * 30, delay=0.03)
        self.send("Count")
        self.browser.wait("document.querySelector('.running .message-body:not(.waiting)')?.textContent.length > 0"
                          " && document.querySelector('.running > .message-body').textContent.length < 100", "part of the answer")
        self.assertEqual(self.wait_for_answer(1), ["abcd" * 30])
        self.assertEqual(self.browser.evaluate("document.title"), "Count - Voltpile")
        self.assertRegex(self.browser.text(".answer .facts"),
                         r"^30 tokens · [\d.]+ tokens/s · first after \d+\.\d\d s · prompt 11 tokens$")

    def test_follows_the_answer_unless_the_reader_scrolled(self):
        below = "(log => log.scrollHeight - log.scrollTop - log.clientHeight)(document.getElementById('log'))"
        self.answer_with("line\n\n" * 400, delay=0.01)
        self.send("Go on")
        self.browser.wait("document.getElementById('log').scrollTop > 200 && document.querySelector('.running')", "follows")
        self.assertLess(self.browser.evaluate(below), 40)
        self.browser.evaluate("document.getElementById('log').scrollTop = 0")
        self.wait_for_answer(1)
        self.assertEqual(self.browser.evaluate("document.getElementById('log').scrollTop"), 0)
        self.browser.click("#to-latest")
        self.browser.wait(f"{below} < 2 && document.getElementById('to-latest').hidden")

    def test_says_finished_answers_to_screen_readers_once(self):
        self.browser.evaluate("window.said = []; new MutationObserver(() => { const t = document.getElementById('announcer')"
                              ".textContent; if (t) said.push(t); }).observe(document.getElementById('announcer'),"
                              " {childList: true, subtree: true})")
        self.answer_with("Hello *there*.", LONG)
        self.send("One")
        self.wait_for_answer(1)
        self.browser.wait("said.length === 1")
        self.send("Two")
        self.wait_for_answer(2)
        self.browser.wait("said.length === 2")
        self.assertEqual(self.browser.evaluate("said"), ["Answer: Hello there.", "Answer complete, 400 words"])
        self.assertEqual(self.browser.evaluate("document.getElementById('log').ariaLive"), "off")

    def test_stops_and_frees_the_connection(self):
        self.answer_with("on and on ", endless=True, delay=0.01)
        self.send("Go on")
        self.browser.wait("document.querySelector('.running > .message-body')?.textContent.length > 30")
        self.browser.click("#stop")
        text = self.wait_for_answer(1)[0]
        self.assertTrue(self.mock.disconnected.wait(20), "the server must notice")
        self.assertTrue(text.startswith("on and on"))
        self.assertRegex(self.browser.text(".answer .facts"), r"^Stopped")
        self.assertEqual(self.focused(), "message")

    def test_retries_and_edits_the_last_message(self):
        self.answer_with("First.", "Second.", "Third.")
        self.send("Queston")
        self.wait_for_answer(1)
        self.press_action(".answer", "Retry")
        self.browser.wait("document.querySelector('.answer > .message-body').textContent === 'Second.'")
        self.wait_for_answer(1)
        self.press_action(".own", "Edit")
        self.assertEqual(self.browser.evaluate("document.activeElement.value"), "Queston")
        self.browser.press("Escape")
        self.assertEqual(self.browser.text(".own .message-body"), "Queston")
        self.press_action(".own", "Edit")
        self.browser.evaluate("document.activeElement.select()")
        self.browser.type("Question")
        self.browser.press("Enter")
        self.browser.wait("document.querySelector('.answer > .message-body')?.textContent === 'Third.'")
        self.wait_for_answer(1)
        self.assertEqual([r["messages"] for r in self.mock.requests],
                         [[{"role": "user", "content": text}] for text in ("Queston", "Queston", "Question")])

    def test_keeps_conversations_when_the_page_reloads(self):
        self.answer_with("**Bold** answer.", "Other answer.")
        self.send("First question")
        self.wait_for_answer(1)
        self.browser.click("#new-conversation")
        self.send("Second question")
        self.wait_for_answer(1)
        self.browser.reload()
        self.browser.wait("document.querySelectorAll('.conversation-link').length === 2")
        self.assertEqual(self.titles(), ["Second question", "First question"])
        self.assertEqual(self.answers(), ["Other answer."])
        self.browser.click("#conversations li:nth-child(2) button")
        self.browser.wait("document.querySelector('.answer strong')?.textContent === 'Bold'")
        self.assertRegex(self.browser.text(".answer .facts"), r"^4 tokens")
        self.browser.click("#conversations li:nth-child(2) .icon-button")
        self.browser.wait("document.getElementById('confirm').open")
        self.browser.press("Escape")
        self.assertEqual(len(self.titles()), 2)
        self.browser.click("#conversations li:nth-child(2) .icon-button")
        self.browser.click("#confirm .danger")
        self.browser.wait("document.querySelectorAll('.conversation-link').length === 1")
        self.browser.reload()
        self.browser.wait("document.querySelectorAll('.conversation-link').length === 1")

    def test_keeps_what_arrived_before_a_reload(self):
        self.answer_with("on and on ", endless=True, delay=0.01)
        self.send("Go on")
        self.browser.wait("document.querySelector('.running > .message-body')?.textContent.length > 30")
        self.browser.reload()
        self.assertTrue(self.wait_for_answer(1)[0].startswith("on and on on and on"))
        self.assertEqual(self.browser.text(".answer .facts").split(" · ")[0], "Interrupted")
        self.answer_with("Again.")
        self.press_action(".answer", "Retry")
        self.browser.wait("document.querySelector('.answer > .message-body').textContent === 'Again.'")

    def test_answers_two_conversations_at_once(self):
        self.answer_with("slow " * 40, delay=0.05)
        self.send("Slow")
        self.browser.wait("document.querySelector('.running > .message-body')?.textContent.length > 4")
        self.answer_with("Quick.")
        self.browser.click("#new-conversation")
        self.send("Quick")
        self.assertEqual(self.wait_for_answer(1), ["Quick."])
        self.browser.wait("document.querySelectorAll('.conversation-link').length === 2")
        self.browser.evaluate("[...document.querySelectorAll('.conversation-link')].find(e => e.textContent.endsWith('Slow')).click()")
        self.assertEqual(self.wait_for_answer(1)[0].split(), ["slow"] * 40)

    def test_shows_thoughts_apart_from_the_answer(self):
        self.answer_with("<think>\nTwo and two.\n</think>\n\nFour.")
        self.send("2 + 2?")
        self.assertEqual(self.wait_for_answer(1), ["Four."])
        self.assertEqual(self.browser.text(".thoughts .message-body"), "Two and two.")
        self.assertFalse(self.browser.evaluate("document.querySelector('.thoughts').open"))


class Access(PageCase):
    """Without a mouse, without sight, on a phone, in the dark."""

    def setUp(self):
        super().setUp()
        self.mock = self.start_mock()
        self.open(self.mock.address)

    def test_works_by_keyboard_alone(self):
        self.browser.evaluate("document.body.focus()")
        self.browser.press("Tab")
        self.assertEqual(self.browser.evaluate("document.activeElement.className"), "skip")
        self.browser.press("Enter")
        self.browser.wait("document.activeElement.id === 'message'")
        self.mock.actions += [{"text": "on and on ", "endless": True, "delay": 0.01}, {"text": "```\ncode\n```"}]
        self.browser.type("Line 1")
        self.browser.press("Enter", shift=True)
        self.browser.type("Line 2")
        self.browser.press("Enter")
        self.browser.wait("document.querySelector('.running > .message-body')?.textContent.length > 30")
        self.browser.press("Escape")
        self.wait_for_answer(1)
        self.assertEqual(self.mock.requests[0]["messages"][0]["content"], "Line 1\nLine 2")
        self.tab_to("Retry")  # past the end of the page to its beginning
        self.browser.press("Enter")
        self.browser.wait("document.querySelector('.code')")
        self.wait_for_answer(1)
        self.tab_to("Copy code")
        self.tab_to("open-settings")
        self.browser.press("Enter")
        self.assertEqual(self.browser.evaluate("document.activeElement.name"), "model")
        self.browser.press("Escape")
        self.browser.wait("document.activeElement.id === 'open-settings'")
        self.tab_to("new-conversation")
        self.browser.press(" ")
        self.assertEqual(self.focused(), "message")
        self.assertEqual(self.answers(), [])
        self.tab_to("tab-dashboard")
        self.browser.press("Enter")
        self.browser.wait("!document.getElementById('dashboard').hidden")

    def test_controls_have_names(self):
        self.mock.actions.append({"text": "| a |\n|---|\n| 1 |\n\n```py\nx\n```\n- [x] done"})
        self.send("Show everything")
        self.wait_for_answer(1)
        self.assert_controls_have_names()
        self.browser.click("#open-settings")
        self.assert_controls_have_names()
        self.browser.press("Escape")
        headings = [name for role, name, _ in self.browser.accessibility() if role == "heading"]
        self.assertIn("Voltpile", headings)

    def test_fits_a_phone(self):
        self.mock.actions.append({"text": "| a | b | c |\n|---|---|---|\n" + f"| {'x' * 60} " * 3 + "|\n\n```\n" + "y" * 300 + "\n```\n" +
                                          "z" * 300})
        self.send("w" * 200)
        self.wait_for_answer(1)
        for width in (360, 320, 768):
            self.assert_fits(width)
        self.browser.size(360, 740)
        self.browser.click("#open-sidebar")
        self.assertEqual(self.focused(), "new-conversation")
        self.assert_fits(360)
        self.browser.press("Escape")
        self.assertEqual(self.focused(), "open-sidebar")
        self.browser.click("#open-settings")
        self.assert_fits(360)

    def colors(self):
        return self.browser.evaluate("getComputedStyle(document.body).backgroundColor")

    def test_follows_the_system_and_the_switch(self):
        light = self.colors()
        self.browser.prefer(color_scheme="dark")
        dark = self.colors()
        self.assertNotEqual(light, dark)
        self.browser.click("#theme")
        self.assertEqual(self.colors(), light)
        self.assertEqual(self.browser.evaluate("document.getElementById('theme').ariaLabel"), "Colors: light. Switch to dark")
        self.browser.reload()
        self.assertEqual(self.colors(), light)
        self.browser.prefer(color_scheme="light")
        self.browser.click("#theme")
        self.assertEqual(self.colors(), dark)
        self.browser.click("#theme")
        self.assertEqual(self.colors(), light)

    def test_text_contrasts_with_its_background(self):
        """WCAG 2.2 AA asks for a contrast of 4.5 for text and 3 for the borders of fields."""
        script = """(() => {
            const style = getComputedStyle(document.documentElement);
            const probe = document.body.appendChild(document.createElement('div'));
            const luminance = (name) => {
                probe.style.color = `var(--${name})`;
                const rgb = getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3).map(c => c / 255)
                    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
                return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
            };
            const contrast = (a, b) => {
                const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
                return (x + 0.05) / (y + 0.05);
            };
            const pairs = [['text', 4.5], ['muted', 4.5], ['accent', 4.5], ['danger', 4.5], ['second', 3], ['field-line', 3]];
            const low = pairs.flatMap(([name, least]) => ['page', 'surface', 'raised'].map(on => [name, on, contrast(name, on), least]))
                .concat([['on-accent', 'accent', contrast('on-accent', 'accent'), 4.5], ['muted', 'hover', contrast('muted', 'hover'), 4.5]])
                .filter(([, , found, least]) => !(found >= least));
            probe.remove();
            return low;
        })()"""
        for scheme in ("light", "dark"):
            self.browser.prefer(color_scheme=scheme)
            self.assertEqual(self.browser.evaluate(script), [], scheme)

    def test_moves_nothing_for_those_who_prefer_that(self):
        self.browser.prefer(reduced_motion="reduce")
        self.browser.evaluate("document.getElementById('log').append(Object.assign(document.createElement('div'), {className: 'waiting'}))")
        name = self.browser.evaluate("getComputedStyle(document.querySelector('.waiting'), '::before').animationName")
        self.assertEqual(name, "none")

    def test_shows_where_the_focus_is(self):
        self.browser.evaluate("document.body.focus()")
        for _ in range(12):
            self.browser.press("Tab")
            shown = self.browser.evaluate("(e => e === document.body || getComputedStyle(e).outlineStyle !== 'none' ||"
                                          " e.closest('.composer-box') !== null)(document.activeElement)")
            self.assertTrue(shown, self.focused())


if __name__ == "__main__":
    unittest.main()
