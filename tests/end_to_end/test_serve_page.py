"""The web page that `voltpile serve` shows, in a headless Chromium, with answers of the tiny model."""

import pathlib
import unittest

from page_case import PageCase
from serving import ServeCase


class ServePage(ServeCase, PageCase):
    def setUp(self):
        ServeCase.setUp(self)
        PageCase.setUp(self)

    def open_server(self, *options):
        """Returns its address, with a slash at the end."""
        self.serve("--template", "chatml", *options)
        return self.url + "/"

    def limit(self, tokens):
        self.browser.click("#open-settings")
        for name, value in (("max_tokens", tokens), ("temperature", 0)):
            self.browser.evaluate(f"document.querySelector('#settings [name={name}]').value = ''")
            self.browser.evaluate(f"document.querySelector('#settings [name={name}]').focus()")
            self.browser.type(str(value))
        self.browser.click("#settings .primary")
        self.browser.wait("!document.getElementById('settings').open")

    def ask(self, text, tokens):
        """Asks the same question without the page."""
        body = {"messages": [{"role": "user", "content": text}], "max_tokens": tokens, "temperature": 0}
        return self.post("/v1/chat/completions", body).json

    def test_chats_with_the_model_and_keeps_the_conversation(self):
        address = self.open_server()
        self.open(address)
        self.assertEqual(self.browser.text("#server-text"), "tiny-q8_0")
        self.assertIn("512 tokens", self.browser.text(".welcome"))
        self.limit(40)
        self.send("And it came to pass")
        shown = self.wait_for_answer(1)[0]
        expected = self.ask("And it came to pass", 40)
        self.assertEqual(shown.split(), expected["choices"][0]["message"]["content"].split())
        facts = self.browser.text(".answer .facts")
        usage = expected["usage"]
        self.assertIn(f"{usage['completion_tokens']} tokens", facts)
        self.assertIn(f"prompt {usage['prompt_tokens']} tokens", facts)
        self.browser.click(".answer .actions button:last-child")  # Retry: the same answer at temperature 0
        self.assertEqual(self.wait_for_answer(1), [shown])
        self.browser.reload()
        self.assertEqual(self.wait_for_answer(1), [shown])

    def test_shows_why_the_server_rejects_a_request(self):
        self.allow_problems("400")
        self.open(self.open_server())
        self.send("And it came to pass " * 200)  # more than the 512 tokens of the context
        self.browser.wait("document.querySelector('.problem:not([hidden])')?.textContent.includes('512')")

    def test_asks_for_the_key(self):
        self.allow_problems("401")
        keys = self.write("keys.txt", "tiny-key-123456\n")
        self.open(self.open_server("--api-key-file", keys), ready=False)
        self.browser.wait("document.querySelector('.welcome .button')")
        self.browser.click(".welcome .button")
        self.browser.type("tiny-key-123456")
        self.browser.press("Enter")
        self.browser.wait("document.getElementById('server').dataset.state === 'ready'")
        self.limit(5)
        self.send("In the beginning")
        self.wait_for_answer(1)
        self.browser.click("#tab-dashboard")
        self.browser.wait("document.querySelectorAll('#charts .card').length > 0")

    def test_dashboard_shows_the_metrics_of_the_server(self):
        address = self.open_server()
        for _ in range(3):
            self.ask("In the beginning", 20)
        self.open(address + "#dashboard")
        titles = "[...document.querySelectorAll('#charts .card')].map(c => c.getAttribute('aria-label'))"
        self.browser.wait(f"{titles}.length >= 9")
        self.assertEqual(self.browser.evaluate(titles), [
            "Requests", "Tokens out", "Tokens in", "Time to first token", "Time between tokens", "Batch", "KV cache", "Prefix cache",
            "Answers"])
        self.ask("In the beginning", 20)
        first = "document.querySelector('.card[aria-label=Answers] .figure:nth-child(2) b').textContent"
        self.browser.wait(f"{first} === '1'", "counts an answer that reached its limit")
        self.assert_controls_have_names()
        self.assert_fits(360)

    def test_serves_the_page_with_its_policy_and_version(self):
        self.open_server()
        page = pathlib.Path(__file__).resolve().parents[2] / "apps/llm/serve/page"
        for path, name, kind in (("/", "index.html", "text/html"), ("/page/main.js", "main.js", "text/javascript"),
                                 ("/page/base.css", "base.css", "text/css"), ("/page/icon.svg", "icon.svg", "image/svg+xml")):
            answer = self.get(path)
            self.assertEqual((answer.status, answer.body), (200, (page / name).read_bytes()))
            self.assertEqual(answer.headers.get_content_type(), kind)
            self.assertIn("script-src 'self'", answer.headers["Content-Security-Policy"])
            self.assertNotIn("unsafe", answer.headers["Content-Security-Policy"])
            again = self.get(path, {"If-None-Match": f'"other", {answer.headers["ETag"]}'})
            self.assertEqual((again.status, again.body), (304, b""))
        for path in ("/page/", "/page/README.md", "/page/../page/main.js", "/page/%2e%2e/page_files.h"):
            self.assertEqual(self.get(path).status, 404, path)


if __name__ == "__main__":
    unittest.main()
