"""voltpile serve over several replicas: the texts of one rank, conversations that stay where their cache is, cancelling, draining, and ranks that die."""

import json
import os
import pathlib
import signal
import threading
import time
import unittest

from harness import PATIENCE, STOPPED, VOLTPILE
from serving import LONG, LONG_CONTEXT, MODEL, ServeCase, events
from tiny_model import EXPECTED

GREEDY = EXPECTED["q8_0"]["greedy"]
FAILING_NEW = pathlib.Path(VOLTPILE).parent / "tests/stand_in/libfailing_new.so"
CUTS = (  # ranks, options, replicas
    (2, ("--replicas", 2), 2),
    (3, (), 3),  # the tiny model cannot be divided by three, so each rank has one
    (3, ("--replicas", 3), 3),
    (4, ("--tensor", 2, "--replicas", 2), 2),
    (4, ("--tensor", 1, "--pipeline", 2), 2),
)


def completion(wanted, **more):
    return {"prompt": wanted["prompt"], "max_tokens": len(wanted["ids"]), "temperature": 0, **more}


def ranks_below(pid):
    """Returns the process numbers of the ranks that this mpirun has started, by rank."""
    found = {}
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        variables = pathlib.Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        for each in variables:
            if each.startswith(b"OMPI_COMM_WORLD_RANK="):
                found[int(each.split(b"=")[1])] = int(child)
    return found


class ReplicaCase(ServeCase):
    def of_replicas(self, name, replicas):
        """Returns a metric of each replica."""
        return [self.metric(f"voltpile:replica_{name}", f'replica="{i}"') for i in range(replicas)]

    def open_streams(self, number):
        """Opens long streams and returns their events, once each has begun."""
        streams = [events(self.open_post("/v1/completions", {**LONG, "seed": i})) for i in range(number)]
        for stream in streams:
            next(stream)
        return streams


class Answers(ReplicaCase):
    def test_texts_are_those_of_one_rank(self):
        for ranks, options, replicas in CUTS:
            with self.subTest(ranks=ranks, options=options):
                self.serve(*options, *LONG_CONTEXT, ranks=ranks)
                health = self.get("/health").json
                self.assertEqual(health, {"status": "ok", "replicas": replicas, "working_replicas": replicas})
                self.check_mixed_streams(48)
                self.wait_for_metric("vllm:generation_tokens_total", sum(self.of_replicas("generation_tokens_total", replicas)))
                self.assertTrue(all(self.of_replicas("generation_tokens_total", replicas)))
                self.wait_for_metric("vllm:num_requests_running", 0)
                self.wait_for_metric("vllm:kv_cache_usage_perc", 0)
                self.server.send_signal(signal.SIGUSR1)
                self.finish(self.server, expect=STOPPED)
                self.assertFalse((self.folder / "address").exists())

    def check_mixed_streams(self, count):
        """Whole answers, streams, grammars, and streams whose client leaves, all at once."""
        wrong = []

        def client(number):
            wanted = GREEDY[number % len(GREEDY)]
            if number % 6 == 5:
                response = self.open_post("/v1/completions", LONG)
                next(events(response))
                return response.leave()
            if number % 6 == 4:
                body = {"prompt": wanted["prompt"], "max_tokens": 20, "seed": number, "regex": "[0-9]{4}"}
                text = self.post("/v1/completions", body).json["choices"][0]["text"]
                return None if len(text) == 4 and text.isdigit() else wrong.append((number, text))
            if number % 2:
                chunks = events(self.open_post("/v1/completions", completion(wanted, stream=True)))
                text = "".join(chunk["choices"][0]["text"] for chunk in chunks)
            else:
                text = self.post("/v1/completions", completion(wanted)).json["choices"][0]["text"]
            return None if text == wanted["text"] else wrong.append((number, text))

        threads = [threading.Thread(target=client, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_conversation_stays_where_its_cache_is(self):
        self.serve("--replicas", 2, "--template", "chatml", ranks=2)
        conversations = [[{"role": "user", "content": f"{word} is the first word of a conversation. Go on."}] for word in ("Ark", "Ur")]
        for messages in conversations:
            self.turn(messages)
        cached = self.of_replicas("cached_tokens_total", 2)
        prompts = self.of_replicas("prompt_tokens_total", 2)
        self.assertTrue(all(prompts), prompts)  # one conversation each
        for messages in reversed(conversations):
            messages.append({"role": "user", "content": "And then?"})
            usage = self.turn(messages)
            # All whole pages of 16 tokens of the first turn, but for its last token, which no pass has read.
            self.assertGreaterEqual(usage["prompt_tokens_details"]["cached_tokens"], (usage["first"] - 1) // 16 * 16)
        deadline = time.monotonic() + 30 * PATIENCE
        while not all(now > before for now, before in zip(self.of_replicas("cached_tokens_total", 2), cached)):
            self.assertLess(time.monotonic(), deadline)

    def turn(self, messages):
        first = self.post("/tokenize", {"messages": messages[:-1], "add_generation_prompt": False}).json["count"] if messages[1:] else 0
        answer = self.post("/v1/chat/completions", {"messages": messages, "max_tokens": 8, "temperature": 0})
        self.assertEqual(answer.status, 200, answer.body)
        messages.append(answer.json["choices"][0]["message"])
        return {**answer.json["usage"], "first": first}

    def test_running_requests_finish_before_it_stops(self):
        self.serve("--replicas", 2, *LONG_CONTEXT, ranks=2)
        streams = self.open_streams(2)
        self.server.send_signal(signal.SIGUSR1)
        while self.get("/ready").status != 503:
            pass
        for stream in streams:
            self.assertEqual(list(stream)[-1]["choices"][0]["finish_reason"], "length")
        self.finish(self.server, expect=STOPPED)

    def test_a_second_signal_ends_the_grace_period(self):
        self.serve("--replicas", 2, "--grace", 3600, *LONG_CONTEXT, ranks=2)
        streams = self.open_streams(6)
        for _ in range(2):
            self.server.send_signal(signal.SIGUSR1)
            while self.server.poll() is None and self.get("/ready").status != 503:
                pass
        for stream in streams:
            with self.assertRaises(AssertionError):  # no [DONE]
                list(stream)
        self.finish(self.server, expect=STOPPED)


class FailedPasses(ReplicaCase):
    @unittest.skipUnless(FAILING_NEW.exists(), "sanitized programs have an allocator of their own")
    def test_a_pass_that_fails_ends_its_replica_alone(self):
        for options, ranks, victim, replica in ((("--replicas", 2), 2, 1, 1), (("--tensor", 2, "--replicas", 2), 4, 3, 1)):
            with self.subTest(options=options, victim=victim):
                (self.folder / "address").unlink(missing_ok=True)
                self.serve(*options, ranks=ranks, environment={"LD_PRELOAD": str(FAILING_NEW)})
                streams = [self.open_post("/v1/completions", {**LONG, "seed": i, "n": 1, "max_tokens": 60}) for i in range(4)]
                os.kill(ranks_below(self.server.pid)[victim], signal.SIGWINCH)  # its memory runs out when it gets a long prompt
                streams += [self.open_post("/v1/completions", {**LONG, "prompt": [10 + i] * 300, "n": 1, "max_tokens": 4}) for i in range(4)]
                ends = [self.end_of(stream) for stream in streams]
                errors = [end["error"]["message"] for end in ends if "error" in end]
                self.assertTrue(0 < len(errors) < len(ends), ends)
                for end in ends:
                    self.assertTrue("error" in end or end["choices"][0]["finish_reason"] == "length", end)
                self.assertTrue(all(error.startswith(f"rank {victim} on ") for error in errors), errors)
                self.assertEqual(self.get("/health").json, {"status": "degraded", "replicas": 2, "working_replicas": 1})
                answer = self.post("/v1/completions", completion(GREEDY[0]))
                self.assertEqual(answer.json["choices"][0]["text"], GREEDY[0]["text"])
                self.server.send_signal(signal.SIGUSR1)
                _, err = self.finish(self.server, expect=STOPPED)
                self.assertEqual(err.count(f"replica {replica} has failed: rank {victim} on "), 1, err)


    def end_of(self, response):
        """The last event of a stream, or the error if there is no stream because nothing had been written."""
        if response.status != 200:
            body = response.read()
            self.assertEqual(response.status, 500, body)
            return json.loads(body)
        return [json.loads(line[6:]) for line in response if line.startswith(b"data: {")][-1]


class DeadRanks(ReplicaCase):
    def test_a_killed_rank_ends_the_server(self):
        for options, ranks, victim in ((("--replicas", 3), 3, 2), (("--tensor", 2), 2, 1), (("--replicas", 2), 2, 0)):
            with self.subTest(options=options, victim=victim):
                (self.folder / "address").unlink(missing_ok=True)
                self.serve(*options, *LONG_CONTEXT, ranks=ranks)
                streams = self.open_streams(4)
                os.kill(ranks_below(self.server.pid)[victim], signal.SIGKILL)
                for stream in streams:
                    self.assert_broken_off(stream, with_event=victim != 0)
                out, err = self.finish(self.server, expect=128 + signal.SIGKILL)
                self.assertEqual(err.count("the launcher ends the job"), 0 if victim == 0 else 1, err)

    def assert_broken_off(self, stream, with_event):
        last = None
        try:
            for last in stream:
                pass
            self.fail("the stream ended with [DONE]")
        except (AssertionError, OSError) as end:
            if with_event:
                self.assertIn("error", last, end)
                # Whichever of mpirun and the watchdog notices first.
                self.assertRegex(last["error"]["message"], "a rank was lost|is gone")


if __name__ == "__main__":
    unittest.main()
