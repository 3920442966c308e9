"""The web page of `voltpile serve` in a headless Chromium: what the tiny model cannot show, with a stand-in for the server.
test_serve_page.py has the page of the program itself."""

import json
import unittest

from mock_serve import MockServer
from page_case import PageCase

HOSTILE = """<script>window.broken = 1</script>
<img src=x onerror="window.broken = 1">
[click](javascript:window.broken=1) [data](data:text/html,<script>1</script>) [ok](https://example.org/a_(b))
![picture](https://example.org/p.png) <svg onload=window.broken=1>
`<b>code</b>` &lt;script&gt; <https://example.org/"onmouseover="x> [x](JaVaScRiPt:alert(1)) [r](/v1/models)
**<i>bold</i>** | <td> |

```html"><script>window.broken = 1</script>
<script>window.broken = 1</script>
```
"""

# Markdown and the nodes that CommonMark (and for tables, tasks and strikethrough GitHub's extension of it) asks for.
RENDERED = {
    "# A *b*\ntext": '<h3 class="level-1">A <em>b</em></h3><p>text</p>',
    "## C# ##": '<h4 class="level-2">C#</h4>',
    "**a** *b* ***c*** ~~d~~ snake_case_name __e__":
        "<p><strong>a</strong> <em>b</em> <em><strong>c</strong></em> <del>d</del> snake_case_name <strong>e</strong></p>",
    "2 * 3 * 4 and *not closed": "<p>2 * 3 * 4 and *not closed</p>",
    "``a ` b`` `c": "<p><code>a ` b</code> `c</p>",
    "- a\n- b\n  - c\n\ntext": "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul><p>text</p>",
    "3. a\n4. b": '<ol start="3"><li>a</li><li>b</li></ol>',
    "- a\n\n- b": "<ul><li><p>a</p></li><li><p>b</p></li></ul>",
    "> a\n> b\n\nc": "<blockquote><p>a\nb</p></blockquote><p>c</p>",
    "a\\*b\\* &amp; c": "<p>a*b* &amp; c</p>",
    "a  \nb": "<p>a  <br>b</p>",
    "---": "<hr>",
    "born in\n1984. That year": "<p>born in\n1984. That year</p>",
    "[a *b*](https://example.org/c_(d) \"t\")":
        '<p><a href="https://example.org/c_(d)" target="_blank" rel="noopener noreferrer">a <em>b</em></a></p>',
    "(see https://example.org/a_(b)).":
        '<p>(see <a href="https://example.org/a_(b)" target="_blank" rel="noopener noreferrer">https://example.org/a_(b)</a>).</p>',
}


class Markdown(PageCase):
    def setUp(self):
        super().setUp()
        self.mock = self.start_mock()
        self.open(self.mock.address)

    def render(self, text):
        return self.browser.evaluate(
            "(async () => { const { renderMarkdown } = await import('/page/markdown.js');"
            f" const node = document.createElement('div'); renderMarkdown(node, {json.dumps(text)});"
            " return node.innerHTML; })()")

    def test_renders_what_the_standard_asks_for(self):
        for text, expected in RENDERED.items():
            with self.subTest(text=text):
                self.assertEqual(self.render(text), expected)

    def test_renders_tables_with_alignment(self):
        html = self.render("| a | b |\n|:--|--:|\n| `x` | 1 |\n| y \\| z |\n\nafter")
        self.assertIn('<th scope="col">a</th><th class="right" scope="col">b</th>', html)
        self.assertIn('<td><code>x</code></td><td class="right">1</td>', html)
        self.assertIn('<td>y | z</td><td class="right"></td>', html)
        self.assertTrue(html.endswith("<p>after</p>"), html)

    def test_keeps_code_as_it_was_written(self):
        code = "all:\n\techo *a* `b` <c>\n\n  x"
        self.render("")
        shown = self.browser.evaluate(
            "(async () => { const { renderMarkdown } = await import('/page/markdown.js');"
            f" const node = document.createElement('div'); renderMarkdown(node, {json.dumps('```make' + chr(10) + code)});"
            " return [node.querySelector('pre').textContent, node.querySelector('.code-bar span').textContent]; })()")
        self.assertEqual(shown, [code, "make"])

    def test_text_of_a_model_never_becomes_markup(self):
        self.mock.actions.append({"text": HOSTILE})
        self.send("Try to break out")
        self.wait_for_answer(1)
        inside = "document.querySelector('.answer > .message-body')"
        self.assertEqual(self.browser.evaluate(f"{inside}.querySelectorAll('script, img, iframe, svg:not(.icon), b, i').length"), 0)
        links = self.browser.evaluate(f"[...{inside}.querySelectorAll('a')].map(a => a.getAttribute('href'))")
        self.assertTrue(links)
        for link in links:
            self.assertTrue(link.startswith("https://example.org/"), link)
        self.assertIn("<script>window.broken = 1</script>", self.browser.text(".answer > .message-body"))
        self.assertIn("javascript:window.broken=1", self.browser.text(".answer > .message-body"))
        attributes = self.browser.evaluate(f"[...{inside}.querySelectorAll('*')].flatMap(e => e.getAttributeNames())")
        self.assertEqual([name for name in attributes if name.startswith("on")], [])
        self.assertIsNone(self.browser.evaluate("window.broken"))

    def test_long_hostile_text_takes_linear_time(self):
        """100,000 characters each: a second or two, unless the time grows with the square of the length."""
        for piece in ("*a ", "**a*", "_a*b ", "[", "[a](", "[a](b ", "`" * 3 + " ", "`a``b", "![", "<http://", "http://a).", "> ",
                      "- ", "# " + " " * 20, "|a", "~~a", "\\", "&#1;", "](a \"", "](" + " " * 9, "a" + " " * 9):
            with self.subTest(piece=piece):
                self.render(piece * (100_000 // len(piece)))


class ServerEvents(PageCase):
    def test_reads_events_as_the_standard_defines_them(self):
        """Any of the three line ends, comments, several data lines, letters of several bytes; and arriving byte by byte."""
        self.open(self.start_mock().address)
        text = "\ufeff: comment\r\ndata: a\r\ndata:b\r\n\r\nid: 7\nevent: x\rdata: \u00fc \u4e2d\r\revent: y\n\ndata\n\ndata: cut off\n"
        for size in (1, 2, 3, 1000):
            events = self.browser.evaluate(
                "(async () => { const { serverEvents } = await import('/page/server_events.js');"
                f" const bytes = new TextEncoder().encode({json.dumps(text)}); const found = [];"
                " const stream = new ReadableStream({ start(controller) {"
                f" for (let i = 0; i < bytes.length; i += {size}) controller.enqueue(bytes.slice(i, i + {size}));"
                " controller.close(); } });"
                " for await (const event of serverEvents(stream)) found.push(event); return found; })()")
            self.assertEqual(events, [{"event": "message", "data": "a\nb"}, {"event": "x", "data": "\u00fc \u4e2d"},
                                      {"event": "message", "data": ""}], size)


class Errors(PageCase):
    def test_asks_for_the_api_key(self):
        self.allow_problems("401")
        mock = self.start_mock(key="secret-7")
        self.open(mock.address, ready=False)
        self.browser.wait("document.querySelector('.welcome .button')", "offers the settings")
        self.assertIn("API key", self.browser.text(".welcome"))
        self.browser.click(".welcome .button")
        self.assertEqual(self.browser.evaluate("document.activeElement.name"), "key")
        self.browser.type("secret-7")
        self.browser.press("Enter")
        self.browser.wait("document.getElementById('server').dataset.state === 'ready'")
        mock.actions.append({"text": "Come in."})
        self.send("Hello")
        self.wait_for_answer(1)
        self.assertIsNone(self.browser.evaluate("localStorage.getItem('voltpile.api_key')"))

    def test_shows_what_the_server_says(self):
        self.allow_problems("429", "503", "400")
        mock = self.start_mock()
        self.open(mock.address)
        mock.actions += [
            {"status": 429, "message": "64 requests are waiting", "headers": {"Retry_After": "7"}},
            {"status": 503, "message": "the server is shutting down", "headers": {"Retry_After": "30"}},
            {"status": 400, "message": "temperature must be at most 2"},
            {"text": "Half an ans", "error": "rank 3 stopped"},
            {"text": "Half an ans", "cut": True},
        ]
        for expected in ("64 requests are waiting. The server is busy: try again in 7 s.",
                         "The server is shutting down. The server takes no new requests at the moment: try again in 30 s.",
                         "Temperature must be at most 2.", "Rank 3 stopped.",
                         "The connection closed before the answer was complete."):
            with self.subTest(expected=expected):
                if "64" in expected:
                    self.send("Hello")
                else:
                    self.browser.click(".answer:last-child .actions button:last-child")  # Retry
                self.browser.wait(f"document.querySelector('.problem:not([hidden])')?.textContent === {json.dumps(expected)}",
                                  expected)
        self.assertEqual(self.browser.text(".answer > .message-body"), "Half an ans")
        self.assertEqual(len(mock.requests[-1]["messages"]), 1, "a failed answer is not part of the conversation")

    def test_says_that_the_server_is_gone(self):
        self.allow_problems("ERR_CONNECTION_REFUSED", "ERR_EMPTY_RESPONSE", "ERR_CONNECTION_RESET")
        mock = self.start_mock()
        self.open(mock.address)
        mock.close()
        self.send("Hello")
        self.browser.wait("document.querySelector('.problem:not([hidden])')?.textContent.startsWith('Cannot reach the server')")


class SettingsAndRequests(PageCase):
    def test_sends_only_what_the_reader_set(self):
        mock = self.start_mock(model="first")
        self.open(mock.address)
        mock.actions += [{"text": "One."}, {"text": "Two."}]
        self.send("Question 1")
        self.wait_for_answer(1)
        self.assertEqual(mock.requests[0], {
            "model": "first", "messages": [{"role": "user", "content": "Question 1"}], "stream": True,
            "stream_options": {"include_usage": True}})
        self.browser.click("#open-settings")
        for name, text in (("system", "Be brief."), ("temperature", "0.25"), ("top_k", "40"), ("seed", "7"), ("stop", "END\nSTOP")):
            self.browser.evaluate(f"document.querySelector('#settings [name={name}]').focus()")
            self.browser.type(text)
        self.browser.click("#settings .primary")
        self.browser.wait("!document.getElementById('settings').open")
        self.browser.reload()
        self.browser.wait("document.getElementById('server').dataset.state === 'ready'")
        self.send("Question 2")
        self.wait_for_answer(2)
        self.assertEqual(mock.requests[1], {
            "model": "first", "temperature": 0.25, "top_k": 40, "seed": 7, "stop": ["END", "STOP"], "stream": True,
            "stream_options": {"include_usage": True},
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Question 1"},
                         {"role": "assistant", "content": "One."}, {"role": "user", "content": "Question 2"}]})

    def test_refuses_values_out_of_range(self):
        mock = self.start_mock()
        self.open(mock.address)
        self.browser.click("#open-settings")
        self.browser.evaluate("document.querySelector('#settings [name=top_p]').focus()")
        self.browser.type("1.5")
        self.browser.click("#settings .primary")
        self.assertTrue(self.browser.evaluate("document.getElementById('settings').open"))
        self.assertTrue(self.browser.evaluate("document.querySelector('#settings [name=top_p]').matches(':invalid')"))


def gpu_metrics():
    """Four ranks on two hosts, two of them with all figures."""
    lines = ['vllm:num_requests_running{model_name="a"} 3', 'vllm:num_requests_running{model_name="b"} 4',
             "vllm:num_requests_waiting 2", "vllm:kv_cache_usage_perc 0.25"]
    for rank in range(4):
        labels = f'{{rank="{rank}",host="node{rank // 2}",gpu="{rank % 2}"}}'
        lines += [f"voltpile:gpu_memory_used_bytes{labels} {(rank + 10) * 2**30}",
                  f"voltpile:gpu_memory_total_bytes{labels} {16 * 2**30}"]
        if rank < 2:
            lines += [f"voltpile:gpu_power_watts{labels} {200 + rank}", f"voltpile:gpu_temperature_celsius{labels} {60 + rank}"]
    return "\n".join(lines) + "\n"


class Dashboard(PageCase):
    def test_shows_what_is_reported_and_no_more(self):
        mock = self.start_mock(metrics=gpu_metrics)
        self.open(mock.address)
        self.browser.click("#tab-dashboard")
        self.browser.wait("document.querySelectorAll('#charts .card').length === 2 && document.querySelectorAll('.gpu').length === 4")
        self.assertEqual(self.figures("Requests"), ["7", "2"])
        self.assertEqual(self.figures("KV cache"), ["25 %"])
        rows = self.browser.evaluate("[...document.querySelectorAll('.gpu')].map(g => g.querySelector('h4').textContent + ': ' +"
                                     " [...g.querySelectorAll('.figure b')].map(b => b.textContent).join(', '))")
        self.assertEqual(rows, ["Rank 0 node0, GPU 0: 10.0 GiB, 200 W, 60 °C", "Rank 1 node0, GPU 1: 11.0 GiB, 201 W, 61 °C",
                                "Rank 2 node1, GPU 0: 12.0 GiB", "Rank 3 node1, GPU 1: 13.0 GiB"])
        self.assert_controls_have_names()
        self.assert_fits(360)

    def figures(self, title):
        return self.browser.evaluate(f"[...document.querySelectorAll('.card[aria-label={json.dumps(title)}] .figure b')]"
                                     ".map(b => b.textContent)")

    def test_derives_rates_and_quantiles(self):
        """Readings of known times: 100 tokens in 2 s, and 10 observations, five up to 0.1 s, five from 0.1 to 0.2 s. As in
        Prometheus, the median is 0.1 s and the 95th percentile 0.1 + 0.1 * 4.5 / 5."""
        self.open(self.start_mock().address)
        script = """(async () => {
            const { Reading, increase, quantile } = await import('/page/prometheus.js');
            const before = new Reading('t_total 50\\nh_bucket{le="0.1"} 1\\nh_bucket{le="0.2"} 1\\nh_bucket{le="+Inf"} 1\\n', 10);
            const after = new Reading('# HELP t\\nt_total{a="x,\\\\"}"} 100 1700000000\\nt_total{a="y"} 5e1\\n' +
                'h_bucket{le="0.1"} 6\\nh_bucket{le="0.2"} 11\\nh_bucket{le="+Inf"} 11\\n', 12);
            return [increase(before, after, 't_total'), quantile(before, after, 'h', 0.5), quantile(before, after, 'h', 0.95),
                quantile(after, after, 'h', 0.5) === undefined, increase(after, before, 't_total'), after.all('t_total')[0].labels.a];
        })()"""
        values = self.browser.evaluate(script)
        self.assertEqual(values[0], 100)
        self.assertAlmostEqual(values[1], 0.1)
        self.assertAlmostEqual(values[2], 0.19)
        self.assertEqual(values[3:], [True, 50, 'x,"}'])

    def test_charts_answer_to_the_keyboard(self):
        self.open(self.start_mock(metrics=gpu_metrics).address)
        self.browser.click("#tab-dashboard")
        self.browser.wait("document.querySelector('#charts .plot')?.getAttribute('aria-label')?.includes('7 running, between 7 and 7')")
        self.browser.evaluate("document.querySelector('#charts .plot').focus()")
        self.browser.press("ArrowLeft")
        self.browser.wait("/\\d\\d/.test(document.querySelector('#charts .card-when').textContent)")
        self.browser.press("Escape")
        self.assertEqual(self.browser.text("#charts .card-when"), "")


if __name__ == "__main__":
    unittest.main()
