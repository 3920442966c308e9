"""`voltpile bench serve`: its figures beside those of `bench llm`, its comparison of texts, and servers that misbehave."""

import http.server
import json
import threading
import unittest

from harness import BAD_INPUT, CANNOT_RUN, FAILED
from serving import MODEL, ServeCase

LOAD = ("--requests", "12", "--prompt-lengths", "5:60", "--generate-lengths", "4:9")
MODELS = {"data": [{"id": "other", "max_model_len": 512, "vocab_size": 100}]}


def event(text):
    return b"data: " + json.dumps({"choices": [{"index": 0, "text": text}]}).encode() + b"\n\n"


USAGE = b'data: {"choices": [], "usage": {"prompt_tokens": 128, "completion_tokens": 128}}\n\n'
DONE = b"data: [DONE]\n\n"


class BadServer:
    """Answers GET /v1/models with `models`, and each completion with what `answer(number)` returns: a status and bytes, which are
    sent as chunks of a stream; None breaks the connection there."""

    def __init__(self, test, answer, models=MODELS, models_status=200):
        numbers = iter(range(1000))

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                body = models if isinstance(models, bytes) else json.dumps(models).encode()
                self.send_response(models_status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                status, *pieces = answer(next(numbers))
                self.send_response(status)
                self.send_header("Content-Type", "text/event-stream" if status == 200 else "application/json")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for piece in [*pieces, b""]:
                    if piece is None:
                        self.close_connection = True
                        return
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        test.addCleanup(self.server.server_close)
        test.addCleanup(self.server.shutdown)


class BenchServe(ServeCase):
    def bench(self, *arguments, expect=0):
        out, err = self.voltpile("bench", "serve", *arguments, expect=expect)
        return out, err

    def test_figures_are_those_of_bench_llm(self):
        self.serve()
        alone = json.loads(self.voltpile("bench", "llm", MODEL, *LOAD, "--cpu", "--json")[0])
        for more in ((), ("--rate", "100"), ("--clients", "3")):
            with self.subTest(more=more):
                served = json.loads(self.bench(self.url, *LOAD, *more, "--json")[0])
                self.assertEqual((served["requests"], served["errors"]), (12, []))
                self.assertEqual(served["server"], self.url)
                if "--rate" not in more:  # the arrivals are drawn between the lengths
                    for name in ("tokens_in", "tokens_out"):
                        self.assertEqual(served[name], alone[name])
                self.assertAlmostEqual(served["tokens_out_per_second"] * served["seconds"] / served["tokens_out"], 1)
                for name in ("first_token", "between_tokens"):
                    self.assertTrue(0 <= served[name]["median_seconds"] <= served[name]["p99_seconds"])
        out, _ = self.bench(self.url + "/v1/", *LOAD, "--clients", "3")
        for words in ("12 requests, 3 at a time; prompts of 5 to 60 tokens, 4 to 9 generated", "errors       0", "first token"):
            self.assertIn(words, out)

    def test_every_text_is_the_one_that_its_prompt_gets_alone(self):
        self.serve()
        out, _ = self.bench(self.url, "--check", "--prompts", 5, "--requests", 60, "--clients", 20, "--prompt-lengths", "3:90",
                            "--generate-lengths", "30:60")
        self.assertIn("errors       0", out)
        self.assertIn("5 prompts", out)
        self.wait_for_metric("vllm:kv_cache_usage_perc", 0)

    def test_sends_the_key(self):
        keys = self.write("keys.txt", "# of the lab\nalpha\n")
        self.serve("--api-key-file", keys)
        self.bench(self.url, *LOAD, "--api-key-file", keys)
        _, err = self.bench(self.url, *LOAD, expect=FAILED)
        self.assertIn(f"GET {self.url}/v1/models: status 401: this server needs an API key", err)

    def test_a_full_server_is_reported(self):
        self.serve("--sequences", 1, "--queue", 1)
        out, err = self.bench(self.url, "--requests", 12, "--generate-lengths", 300, "--json", expect=FAILED)
        errors = json.loads(out)["errors"]
        self.assertIn("status 429: the server has 2 requests here and may have at most 2: try again later", errors)
        self.assertIn(f"POST {self.url}/v1/completions: {len(errors)} of 12 requests failed; the first: status 429", err)

    def test_bad_answers_are_reported(self):
        good = (200, event("In "), event("the"), USAGE, DONE)
        cases = (
            ((404, b'{"error": {"message": "no such path"}}'), "status 404: no such path"),
            ((500, b"<html>"), "status 500: <html>"),
            ((200, event("In "), None), "the server closed the connection before the response was complete"),
            ((200, event("In ")), "the stream ended before [DONE]"),
            ((200, b"data: {\n\n", DONE), "an event is not part of a completion: {"),
            ((200, event("In "), b'data: {"error": {"message": "out of memory"}}\n\n'), "out of memory"),
        )
        for answer, says in cases:
            with self.subTest(says=says):
                server = BadServer(self, lambda number: good if number == 0 else answer)
                out, err = self.bench(server.url, "--requests", 3, "--clients", 1, expect=FAILED)
                self.assertIn(f"2 x  {says}", out)
                self.assertIn(f"POST {server.url}/v1/completions: 2 of 3 requests failed; the first: {says}", err)
        server = BadServer(self, lambda number: good if number < 3 else (200, event("In their"), USAGE, DONE))
        _, err = self.bench(server.url, "--requests", 3, "--prompts", 2, "--check", expect=FAILED)
        self.assertIn("2 of 3 requests failed; the first: the text differs from the one that the prompt got alone", err)

    def test_servers_that_do_not_say_what_they_serve(self):
        cases = (
            ({"models": b'{"error": {"message": "go away"}}', "models_status": 404}, FAILED, "/v1/models: status 404: go away"),
            ({"models": b"<html>"}, FAILED, "/v1/models: status 200, but the answer is no list of models: <html>"),
            ({"models": {"data": []}}, FAILED, "the answer is no list of models"),
            ({"models": {"data": [{"id": "other"}]}}, BAD_INPUT, "does not say how many tokens other has: --vocabulary does"),
            ({"models": {"data": [{"id": "other", "vocab_size": 9, "max_model_len": 99}]}}, BAD_INPUT, "exceed the context of 99"),
        )
        for options, code, says in cases:
            with self.subTest(says=says):
                server = BadServer(self, None, **options)
                _, err = self.bench(server.url, expect=code)
                self.assertIn(says, err)
                self.assertIn(server.url, err)

    def test_rejects_wrong_arguments(self):
        closed = BadServer(self, None)
        closed.server.shutdown()
        closed.server.server_close()
        cases = (
            ((closed.url,), FAILED, f"GET {closed.url}/v1/models: cannot connect: Connection refused"),
            (("localhost:8000",), BAD_INPUT, "localhost:8000 is not the URL of a server"),
            (("http://no.such.host.invalid:1",), CANNOT_RUN, "cannot reach http://no.such.host.invalid:1"),
            (("http://a", "--rate", "1", "--clients", "2"), BAD_INPUT, "--clients"),
            (("http://a", "--prompt-lengths", "9:3"), BAD_INPUT, "--prompt-lengths"),
            (("http://a", "--api-key-file", "/nowhere/keys"), BAD_INPUT, "/nowhere/keys"),
        )
        for arguments, code, says in cases:
            with self.subTest(arguments=arguments):
                _, err = self.bench(*arguments, expect=code)
                self.assertIn(says, err)


if __name__ == "__main__":
    unittest.main()
