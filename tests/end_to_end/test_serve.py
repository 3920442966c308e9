"""voltpile serve with the tiny model: the text of transformers over HTTP, streams, limits, refused requests, and draining."""

import json
import signal
import subprocess
import threading
import unittest

import jsonschema
from harness import BAD_INPUT, CANNOT_RUN, PATIENCE, STOPPED
from serving import ENDLESS, LONG, LONG_CONTEXT, MODEL, Answer, ServeCase, events
from tiny_model import EXPECTED, MODELS

GREEDY = EXPECTED["q8_0"]["greedy"]
CHAT = json.loads((MODELS / "chat_expected.json").read_text())


def completion(wanted, **more):
    return {"prompt": wanted["prompt"], "max_tokens": len(wanted["ids"]), "temperature": 0, **more}


def conversation(turns=1):
    """The beginning of the expected chat, up to the question of the last turn."""
    messages = [{"role": "system", "content": CHAT["system"]}]
    for turn in CHAT["turns"][:turns]:
        messages += [{"role": "user", "content": turn["question"]}, {"role": "assistant", "content": turn["text"]}]
    return messages[:-1]


class Answers(ServeCase):
    def setUp(self):
        super().setUp()
        self.serve("--template", "chatml")

    def test_completions_are_those_of_transformers(self):
        for wanted in GREEDY:
            answer = self.post("/v1/completions", completion(wanted))
            self.assertEqual(answer.status, 200, answer.body)
            choice = answer.json["choices"][0]
            self.assertEqual((choice["text"], choice["finish_reason"]), (wanted["text"], "length"))
            self.assertEqual(answer.json["usage"]["prompt_tokens"], len(wanted["prompt_ids"]))
            self.assertEqual(answer.json["usage"]["completion_tokens"], len(wanted["ids"]))
        batch = self.post("/v1/completions", {"prompt": [wanted["prompt_ids"] for wanted in GREEDY], "max_tokens": 32, "temperature": 0})
        self.assertEqual([choice["text"] for choice in batch.json["choices"]], [wanted["text"] for wanted in GREEDY])

    def test_chat_is_that_of_transformers(self):
        wanted = CHAT["turns"][0]
        body = {"messages": conversation(), "max_tokens": len(wanted["ids"]), "temperature": 0, "model": "tiny-q8_0"}
        answer = self.post("/v1/chat/completions", body).json
        self.assertEqual(answer["object"], "chat.completion")
        self.assertEqual(answer["choices"][0]["message"]["content"], wanted["text"])
        self.assertEqual(answer["usage"]["prompt_tokens"], wanted["added"])

    def test_streams_have_the_same_text(self):
        wanted = GREEDY[0]
        options = {"stream": True, "stream_options": {"include_usage": True}}
        response = self.open_post("/v1/completions", completion(wanted, **options))
        self.assertEqual(response.headers["Content-Type"], "text/event-stream")
        *chunks, last = events(response)
        self.assertEqual("".join(chunk["choices"][0]["text"] for chunk in chunks), wanted["text"])
        self.assertGreater(len(chunks), 10)
        self.assertEqual(chunks[-1]["choices"][0]["finish_reason"], "length")
        self.assertEqual(last["usage"]["completion_tokens"], len(wanted["ids"]))

        wanted = CHAT["turns"][0]
        body = {"messages": conversation(), "max_completion_tokens": len(wanted["ids"]), "temperature": 0, "stream": True}
        chunks = list(events(self.open_post("/v1/chat/completions", body)))
        self.assertEqual(chunks[0]["choices"][0]["delta"]["role"], "assistant")
        self.assertEqual("".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks), wanted["text"])

    def test_stop_strings_seeds_and_several_answers(self):
        wanted = GREEDY[0]
        stopped = self.post("/v1/completions", completion(wanted, stop=["Israel", "never"])).json["choices"][0]
        self.assertEqual((stopped["text"], stopped["finish_reason"]), (wanted["text"].split("Israel")[0], "stop"))
        draw = {"prompt": "And", "max_tokens": 20, "seed": 5, "n": 3}
        three = [choice["text"] for choice in self.post("/v1/completions", draw).json["choices"]]
        self.assertEqual(len(set(three)), 3)
        self.assertEqual([choice["text"] for choice in self.post("/v1/completions", draw).json["choices"]], three)
        alone = self.post("/v1/completions", {**draw, "n": 1}).json["choices"][0]["text"]
        self.assertEqual(alone, three[0])
        free = {"prompt": "And", "max_tokens": 20}
        self.assertNotEqual(*(self.post("/v1/completions", free).json["choices"][0]["text"] for _ in range(2)))

    def test_prompts_have_logprobs(self):
        wanted = GREEDY[0]
        body = {"max_tokens": len(wanted["ids"]), "temperature": 0, "logprobs": 1}
        generated = self.post("/v1/completions", {"prompt": wanted["prompt_ids"], **body}).json["choices"][0]["logprobs"]
        text = wanted["prompt_ids"] + wanted["ids"]
        scored = self.post("/v1/completions", {"prompt": [text, text[:40]], "max_tokens": 0, "echo": True, "logprobs": 1}).json
        self.assertEqual(scored["usage"]["completion_tokens"], 0)
        for choice, tokens in zip(scored["choices"], (text, text[:40]), strict=True):
            logprobs = choice["logprobs"]
            self.assertEqual(choice["text"], self.text_of(tokens[1:]))  # without the special token
            self.assertEqual(len(logprobs["tokens"]), len(tokens))
            self.assertIsNone(logprobs["token_logprobs"][0])
            self.assertIsNone(logprobs["top_logprobs"][0])
            begin = len(wanted["prompt_ids"])
            # Greedy tokens, whose probabilities do not depend on how the prompt is cut beyond the order of sums.
            for own, other in zip(logprobs["token_logprobs"][begin:], generated["token_logprobs"]):
                self.assertAlmostEqual(own, other, delta=1e-4)
            for own, top in zip(logprobs["token_logprobs"][begin:], logprobs["top_logprobs"][begin:], strict=True):
                self.assertEqual(own, max(top.values()))

    def test_prompt_logprobs_are_those_of_echo(self):
        tokens = GREEDY[0]["prompt_ids"]
        echo = self.post("/v1/completions", {"prompt": tokens, "max_tokens": 0, "echo": True, "logprobs": 2}).json["choices"][0]["logprobs"]
        scored = self.post("/v1/completions", {"prompt": [tokens, tokens[:4]], "max_tokens": 1, "prompt_logprobs": 2}).json["choices"]
        self.assertIsNone(scored[0]["logprobs"])
        for choice, wanted in zip(scored, (tokens, tokens[:4]), strict=True):
            first, *others = choice["prompt_logprobs"]
            self.assertIsNone(first)
            self.assertEqual(len(others), len(wanted) - 1)
            for token, scores, logprob, top in zip(wanted[1:], others, echo["token_logprobs"][1:], echo["top_logprobs"][1:]):
                self.assertAlmostEqual(scores[str(token)]["logprob"], logprob, delta=1e-4)
                ranked = sorted((score for score in scores.values() if score["rank"]), key=lambda score: score["rank"])
                self.assertEqual(len(ranked), 2)
                self.assertIn(len(top), (2, 3))
                # Behind the most probable ones, completions have the token itself.
                for score, best in zip(ranked, sorted(top.values(), reverse=True)):
                    self.assertAlmostEqual(score["logprob"], best, delta=1e-4)
        chat = self.post("/v1/chat/completions", {"messages": conversation(), "max_tokens": 1, "prompt_logprobs": 0}).json
        self.assertEqual(len(chat["prompt_logprobs"]), chat["usage"]["prompt_tokens"])
        self.assertEqual({len(each) for each in chat["prompt_logprobs"][1:]}, {1})

    def test_prompt_logprobs_are_those_of_eval(self):
        text = (MODELS / "held_out.txt").read_text()[:900]
        self.write("text.txt", text)
        out, _ = self.voltpile("model", "eval", MODEL, self.folder / "text.txt", "--context", 512, "--cpu", "--json")
        found = json.loads(out)
        answer = self.post("/v1/completions", {"prompt": text, "max_tokens": 0, "echo": True, "logprobs": 0}).json
        values = answer["choices"][0]["logprobs"]["token_logprobs"][1:]
        self.assertEqual(len(values), found["tokens"])
        # Log probabilities are stored in fp32, and their sums over the hidden state depend on the pieces of the prompt.
        self.assertAlmostEqual(-sum(values) / len(values), found["mean_loss"], delta=1e-4)

    def test_logprobs_and_bias(self):
        wanted = GREEDY[0]
        choice = self.post("/v1/completions", completion(wanted, logprobs=2)).json["choices"][0]
        logprobs = choice["logprobs"]
        self.assertEqual("".join(logprobs["tokens"]), wanted["text"])
        for value, top in zip(logprobs["token_logprobs"], logprobs["top_logprobs"], strict=True):
            self.assertEqual(max(top.values()), value)  # greedy
        forced = self.post("/v1/completions", completion(wanted, max_tokens=3, logit_bias={str(wanted["ids"][1]): 100}))
        self.assertEqual(forced.json["choices"][0]["text"], 3 * self.text_of([wanted["ids"][1]]))

    def text_of(self, tokens):
        return self.post("/detokenize", {"tokens": tokens}).json["prompt"]

    def test_structured_output(self):
        schema = {
            "type": "object",
            "properties": {"book": {"enum": ["Genesis", "Exodus"]}, "read": {"type": "boolean"}, "note": {"type": "string", "maxLength": 12}},
            "required": ["book", "read", "note"],
            "additionalProperties": False,
        }
        body = {"messages": conversation(), "max_tokens": 200, "seed": 1, "n": 4}
        wanted = {"type": "json_schema", "json_schema": {"name": "reading", "schema": schema, "strict": True}}
        answer = self.post("/v1/chat/completions", {**body, "response_format": wanted})
        self.assertEqual(answer.status, 200, answer.body)
        for choice in answer.json["choices"]:
            self.assertEqual(choice["finish_reason"], "stop")
            jsonschema.validate(json.loads(choice["message"]["content"]), schema)
        match = self.post("/v1/completions", {"prompt": "In the year", "max_tokens": 30, "seed": 1, "regex": "[0-9]{4}"})
        self.assertRegex(match.json["choices"][0]["text"], "^[0-9]{4}$")
        broken = {"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "number", "not": {}}}}
        for name, value in (("regex", "("), ("grammar", "root ::= nothing"), ("response_format", broken)):
            refused = self.post("/v1/completions", {"prompt": "And", name: value})
            self.assertEqual((refused.status, refused.json["error"]["param"]), (400, name))

    def test_tokenize_and_detokenize(self):
        wanted = GREEDY[0]
        answer = self.post("/tokenize", {"prompt": wanted["prompt"]}).json
        self.assertEqual((answer["tokens"], answer["count"]), (wanted["prompt_ids"], len(wanted["prompt_ids"])))
        self.assertEqual(self.text_of(wanted["ids"]), wanted["text"])
        chat = self.post("/tokenize", {"messages": conversation()}).json
        self.assertEqual(chat["count"], CHAT["turns"][0]["added"])

    def test_documents(self):
        models = self.get("/v1/models").json
        self.assertEqual([(model["id"], model["max_model_len"]) for model in models["data"]], [("tiny-q8_0", 512)])
        self.assertEqual(self.get("/v1/models/tiny-q8_0").json, models["data"][0])
        self.assertEqual(self.get("/v1/models/other").status, 404)
        self.assertEqual((self.get("/health").status, self.get("/ready").status), (200, 200))
        info = self.get("/tokenizer_info").json
        config = json.loads((MODELS / "hf" / "tokenizer_config.json").read_text())
        for name in ("bos_token", "eos_token", "model_max_length"):
            self.assertEqual(info[name], config[name])
        self.assertIn("<|im_start|>", info["chat_template"])
        paths = self.get("/openapi.json").json["paths"]
        for path in paths:
            method = next(iter(paths[path]))
            self.assertNotIn((self.get if method == "get" else lambda path: self.post(path, {}))(path).status, (404, 405), path)
        self.assertRegex(self.get("/version").json["version"], r"^\d+\.\d+\.\d+$")
        self.post("/v1/completions", completion(GREEDY[0]))
        self.wait_for_metric("vllm:generation_tokens_total", len(GREEDY[0]["ids"]))
        self.assertEqual(self.metric("vllm:request_success_total", 'finished_reason="length"'), 1)

    def test_refuses_bad_requests_and_goes_on(self):
        chat = "/v1/chat/completions"
        cases = (
            ("/v1/completions", {"prompt": "and " * 600}, 400, "no room for an answer in a context of 512"),
            ("/v1/completions", {"prompt": "And", "max_tokens": 512}, 400, "max_tokens is 512"),
            ("/v1/completions", {"prompt": ""}, 200, ""),  # the model's first token is a prompt
            ("/v1/completions", {"prompt": []}, 400, "the prompt is empty"),
            ("/v1/completions", {"prompt": "And", "model": "gpt-5"}, 404, 'there is no model \\"gpt-5\\" here'),
            (chat, {"messages": [{"role": "user", "content": "Hi"}], "tools": [{"type": "function"}]}, 400, "tools[0].function"),
            (chat, {"messages": [{"role": "user", "content": "Hi"}], "temperature": -1}, 400, "temperature"),
            (chat, b'{"messages": [', 400, "not valid JSON at byte 15"),
            (chat, b'{"messages": "\xff"}', 400, "not valid JSON"),
            ("/v1/nothing", {}, 404, "there is no /v1/nothing"),
            ("/v1/models", {}, 405, "takes GET, HEAD"),
        )
        for path, body, status, says in cases:
            with self.subTest(path=path, body=body):
                answer = self.post(path, body)
                self.assertEqual(answer.status, status, answer.body)
                self.assertIn(says, answer.body.decode())
                if status != 200:
                    self.assertIn("message", answer.json["error"])
        self.assertEqual(self.post(chat, {}, {"Content-Type": "text/plain"}).status, 415)
        self.assertEqual(self.post("/v1/completions", completion(GREEDY[0])).json["choices"][0]["text"], GREEDY[0]["text"])

    def test_responses(self):
        wanted = CHAT["turns"][0]
        body = {"instructions": CHAT["system"], "input": wanted["question"], "max_output_tokens": len(wanted["ids"]), "temperature": 0}
        answer = self.post("/v1/responses", body).json
        self.assertEqual(answer["output"][0]["content"][0]["text"], wanted["text"])
        self.assertEqual((answer["status"], answer["incomplete_details"]["reason"]), ("incomplete", "max_output_tokens"))
        self.assertEqual(answer["usage"]["output_tokens"], len(wanted["ids"]))
        lines = self.open_post("/v1/responses", {**body, "stream": True}).read().decode().splitlines()
        streamed = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
        self.assertEqual([event["type"] for event in streamed], [line[7:] for line in lines if line.startswith("event: ")])
        self.assertEqual([event["sequence_number"] for event in streamed], list(range(len(streamed))))
        self.assertEqual((streamed[0]["type"], streamed[-1]["type"]), ("response.created", "response.incomplete"))
        self.assertEqual("".join(event.get("delta", "") for event in streamed), wanted["text"])
        self.assertEqual(streamed[-1]["response"]["usage"]["output_tokens"], len(wanted["ids"]))
        refused = self.post("/v1/responses", {**body, "previous_response_id": "resp_1"})
        self.assertEqual((refused.status, refused.json["error"]["param"]), (400, "previous_response_id"))

    def test_messages(self):
        wanted = CHAT["turns"][0]
        body = {"model": "tiny-q8_0", "system": CHAT["system"], "max_tokens": len(wanted["ids"]), "temperature": 0,
                "messages": [{"role": "user", "content": [{"type": "text", "text": wanted["question"]}]}]}
        answer = self.post("/v1/messages", body).json
        self.assertEqual((answer["content"][0]["text"], answer["stop_reason"]), (wanted["text"], "max_tokens"))
        self.assertEqual(answer["usage"]["output_tokens"], len(wanted["ids"]))
        lines = self.open_post("/v1/messages", {**body, "stream": True}).read().decode().splitlines()
        streamed = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
        self.assertEqual([event["type"] for event in streamed], [line[7:] for line in lines if line.startswith("event: ")])
        self.assertEqual([streamed[0]["type"], streamed[-1]["type"]], ["message_start", "message_stop"])
        self.assertEqual(streamed[0]["message"]["usage"]["input_tokens"], wanted["added"])
        texts = [event["delta"]["text"] for event in streamed if event["type"] == "content_block_delta"]
        self.assertEqual("".join(texts), wanted["text"])
        refused = self.post("/v1/messages", {**body, "model": "claude"})
        self.assertEqual((refused.status, refused.json["type"], refused.json["error"]["type"]), (404, "error", "not_found_error"))
        self.assertEqual(self.post("/v1/messages", {**body, "tools": [{}]}).status, 400)

    def test_curl(self):
        body = json.dumps(completion(GREEDY[0]))
        done = subprocess.run(["curl", "-sS", f"{self.url}/v1/completions", "-H", "Content-Type: application/json", "-d", body],
                              capture_output=True, timeout=120 * PATIENCE, check=True)
        self.assertEqual(json.loads(done.stdout)["choices"][0]["text"], GREEDY[0]["text"])

    def test_many_streams_are_not_mixed_up(self):
        texts = {}

        def stream(number):
            wanted = GREEDY[number % len(GREEDY)]
            chunks = events(self.open_post("/v1/completions", completion(wanted, stream=True)))
            texts[number] = "".join(chunk["choices"][0]["text"] for chunk in chunks)

        threads = [threading.Thread(target=stream, args=(number,)) for number in range(48)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(texts, {number: GREEDY[number % len(GREEDY)]["text"] for number in range(48)})


class Limits(ServeCase):
    def test_a_client_that_leaves_frees_its_pages(self):
        self.serve("--sequences", 4, *LONG_CONTEXT)
        for kind in ("streamed", "whole"):
            with self.subTest(kind=kind):
                if kind == "streamed":
                    response = self.open_post("/v1/completions", {**LONG, "n": 1, "max_tokens": 4000})
                    next(events(response))
                    leave = response.leave
                else:
                    leave = self.send_post("/v1/completions", ENDLESS).close
                    self.wait_for_metric("vllm:num_requests_running", 4)
                leave()
                self.wait_for_metric("vllm:num_requests_running", 0)
                self.assertEqual(self.metric("vllm:kv_cache_usage_perc"), 0)
        self.assertEqual(self.metric("vllm:request_success_total", 'finished_reason="abort"'), 1 + ENDLESS["n"])

    def test_keys(self):
        keys = self.write("keys.txt", "# of the lab\nalpha\nbeta\n")
        self.serve("--api-key-file", keys)
        self.assertEqual(self.get("/health").status, 200)
        for headers in ({}, {"Authorization": "Bearer gamma"}, {"Authorization": "Basic alpha"}):
            answer = self.post("/v1/completions", completion(GREEDY[0]), headers)
            self.assertEqual((answer.status, answer.json["error"]["code"]), (401, "invalid_api_key"))
        for headers in ({"Authorization": "Bearer beta"}, {"X-Api-Key": "alpha"}):
            self.assertEqual(self.post("/v1/completions", completion(GREEDY[0]), headers).status, 200)

    def test_a_full_queue_answers_429(self):
        self.serve("--sequences", 1, "--queue", 1, *LONG_CONTEXT)
        clients = []
        for name in ("running", "waiting"):
            clients.append(self.send_post("/v1/completions", {**ENDLESS, "n": 1}))
            self.wait_for_metric(f"vllm:num_requests_{name}", 1)
        answer = self.post("/v1/completions", completion(GREEDY[0]))
        self.assertEqual((answer.status, answer.json["error"]["code"]), (429, "queue_full"))
        self.assertGreater(int(answer.headers["Retry-After"]), 0)
        for client in clients:
            client.close()

    def test_a_key_fills_its_own_queue_only(self):
        keys = self.write("keys.txt", "alpha\nbeta lab weight=2\n")
        self.serve("--api-key-file", keys, "--sequences", 1, "--queue", 1, *LONG_CONTEXT)
        alpha, beta = ({"Authorization": f"Bearer {key}"} for key in ("alpha", "beta"))
        self.metric_headers = beta
        running = self.send_post("/v1/completions", {**ENDLESS, "n": 1}, alpha)
        self.wait_for_metric("vllm:num_requests_running", 1)
        clients = []
        for number, headers in enumerate((alpha, beta)):
            clients.append(self.send_post("/v1/completions", completion(GREEDY[number]), headers))
            self.wait_for_metric("vllm:num_requests_waiting", number + 1)
        answer = self.post("/v1/completions", completion(GREEDY[0]), alpha)
        self.assertEqual((answer.status, answer.json["error"]["code"]), (429, "queue_full"))
        self.assertIn('the API key "key 1" has 2 requests', answer.json["error"]["message"])
        running.close()
        texts = [Answer(client.getresponse()).json["choices"][0]["text"] for client in clients]
        self.assertEqual(texts, [GREEDY[0]["text"], GREEDY[1]["text"]])

    def test_large_bodies_answer_413(self):
        self.serve("--body-mb", 1)
        self.assertEqual(self.post("/v1/completions", {"prompt": "a" * 2_000_000}).status, 413)

    def test_ranks_share_the_model(self):
        for cut in (("--tensor", "2"), ("--tensor", "1", "--pipeline", "2")):
            with self.subTest(cut=cut):
                self.serve(*cut, ranks=2)
                self.assertEqual(self.post("/v1/completions", completion(GREEDY[0])).json["choices"][0]["text"], GREEDY[0]["text"])
                (self.folder / "address").unlink()
                self.end_server()

    def test_rejects_wrong_arguments(self):
        self.serve()
        unusable = self.write("empty.txt", "# nothing\n")
        cases = (
            (("--port", self.port), CANNOT_RUN, f"cannot listen on 127.0.0.1:{self.port}: Address already in use"),
            (("--host", "no.such.host.invalid"), BAD_INPUT, "cannot listen on host no.such.host.invalid"),
            (("--api-key-file", "/nowhere/keys"), BAD_INPUT, "/nowhere/keys"),
            (("--api-key-file", unusable), BAD_INPUT, "empty.txt has no key"),
            (("--port", 0, "--tls-cert", unusable, "--tls-key", unusable), BAD_INPUT, "empty.txt is not a certificate"),
            (("--tls-cert", unusable), BAD_INPUT, "--tls-key"),
            (("--port", 70000), BAD_INPUT, "--port"),
        )
        for options, code, says in cases:
            with self.subTest(options=options):
                _, err = self.voltpile("serve", MODEL, "--cpu", *options, expect=code)
                self.assertIn(says, err)


class Draining(ServeCase):
    def stop(self, sign):
        self.server.send_signal(sign)
        self.wait_until_draining()

    def wait_until_draining(self):
        while self.get("/ready").status != 503:
            pass

    def test_running_requests_finish(self):
        for sign in (signal.SIGTERM, signal.SIGUSR1):
            with self.subTest(signal=sign.name):
                self.serve("--grace", 300, *LONG_CONTEXT)  # busy machines need more than the usual 30 s
                chunks = events(self.open_post("/v1/completions", LONG))
                next(chunks)
                self.stop(sign)
                refused = self.post("/v1/completions", completion(GREEDY[0]))
                self.assertEqual((refused.status, refused.json["error"]["code"]), (503, "stopping"))
                self.assertEqual(refused.headers["Retry-After"], "300")
                self.assertEqual(self.get("/health").status, 200)
                last = list(chunks)[-1]
                self.assertEqual(last["choices"][0]["finish_reason"], "length")
                self.finish(self.server, expect=STOPPED)
                self.assertFalse((self.folder / "address").exists())

    def test_the_grace_period_ends(self):
        self.serve("--grace", 0, *LONG_CONTEXT)
        chunks = events(self.open_post("/v1/completions", LONG))
        next(chunks)
        self.server.send_signal(signal.SIGTERM)
        errors = []
        with self.assertRaises(AssertionError):  # no [DONE]
            errors.extend(chunk for chunk in chunks if "error" in chunk)
        self.finish(self.server, expect=STOPPED)

    def test_an_idle_server_stops_at_once(self):
        self.serve()
        self.server.send_signal(signal.SIGINT)
        _, err = self.finish(self.server, expect=STOPPED)
        self.assertIn("stopping", err)


if __name__ == "__main__":
    unittest.main()
