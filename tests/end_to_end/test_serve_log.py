"""The lines that `voltpile serve --log-format` writes."""

import json
import signal
import unittest

from harness import BAD_INPUT, STOPPED
from serving import MODEL, ServeCase, events

COMPLETION = {"prompt": "And it came to pass", "max_tokens": 8, "temperature": 0, "ignore_eos": True}


class Log(ServeCase):
    def log(self):
        """Stops the server and returns its lines by request id."""
        self.server.send_signal(signal.SIGTERM)
        out, _ = self.finish(self.server, expect=STOPPED)
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(len({line.get("id") for line in lines}), len(lines))
        return {line.get("id"): line for line in lines}

    def test_one_line_a_request(self):
        keys = self.write("keys.txt", "alpha\nbeta lab\n")
        self.serve("--api-key-file", keys, "--log-format", "json")
        key = {"Authorization": "Bearer beta"}

        def headers(name, key=key):
            return {"X-Request-Id": name, **key}

        answer = self.post("/v1/completions", {**COMPLETION, "n": 2}, headers("whole"))
        chunks = list(events(self.open_post("/v1/completions", {**COMPLETION, "stream": True}, headers("stream", {"X-Api-Key": "alpha"}))))
        self.assertEqual(chunks[-1]["choices"][0]["finish_reason"], "length")
        leaving = self.open_post("/v1/completions", {**COMPLETION, "max_tokens": 500, "stream": True}, headers("leaves"))
        next(events(leaving))
        leaving.leave()
        self.post("/v1/completions", {"prompt": 3}, headers("bad"))
        self.post("/v1/completions", COMPLETION, headers("nokey", {}))
        self.post("/v1/nothing", COMPLETION, headers("nowhere"))
        self.get("/v1/models", headers("models"))
        lines = self.log()
        self.assertEqual(set(lines), {"whole", "stream", "leaves", "bad", "nokey", "nowhere"})

        whole = lines["whole"]
        usage = answer.json["usage"]
        self.assertEqual((whole["path"], whole["status"], whole["key"], whole["peer"]), ("/v1/completions", 200, "lab", "127.0.0.1"))
        self.assertEqual((whole["answers"], whole["tokens_in"], whole["tokens_out"]), (2, usage["prompt_tokens"], 16))
        self.assertEqual(whole["finish"], "length")
        self.assertTrue(0 <= whole["queue_seconds"] <= whole["first_token_seconds"] <= whole["seconds"])
        self.assertEqual((lines["stream"]["key"], lines["stream"]["tokens_out"]), ("key 1", 8))
        self.assertEqual((lines["leaves"]["status"], lines["leaves"]["finish"]), (499, "cancelled"))
        self.assertLess(lines["leaves"]["tokens_out"], 500)
        self.assertEqual((lines["bad"]["status"], lines["nokey"]["status"], lines["nowhere"]["status"]), (400, 401, 404))
        self.assertIn("prompt", lines["bad"]["error"])
        for line in lines.values():
            self.assertNotIn("prompt", line)
            for secret in ("alpha", "beta", "came to pass"):
                self.assertNotIn(secret, json.dumps(line))

    def test_prompts_if_asked_for(self):
        self.serve("--log-format", "json", "--log-prompts", "on")
        self.post("/v1/completions", COMPLETION, {"X-Request-Id": "one"})
        self.assertEqual(json.loads(self.log()["one"]["prompt"]), COMPLETION)

    def test_text_and_no_lines(self):
        for options, lines in ((("--log-format", "text"), 1), ((), 0)):
            with self.subTest(options=options):
                self.serve(*options)
                self.post("/v1/completions", COMPLETION, {"X-Request-Id": "one"})
                self.server.send_signal(signal.SIGTERM)
                out, _ = self.finish(self.server, expect=STOPPED)
                self.assertEqual(len(out.splitlines()), lines)
                if lines:
                    self.assertIn(" one 127.0.0.1 - /v1/completions 200 in ", out)

    def test_rejects_wrong_arguments(self):
        for options, says in ((("--log-format", "xml"), "--log-format"), (("--log-prompts", "on"), "--log-format")):
            _, err = self.voltpile("serve", MODEL, "--cpu", *options, expect=BAD_INPUT)
            self.assertIn(says, err)


if __name__ == "__main__":
    unittest.main()
