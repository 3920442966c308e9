"""A minute of mixed load on `voltpile serve`: every accepted request ends with the right text or a clear error, no page of the KV
cache stays in use, and memory does not grow. As a program it runs longer:
    VOLTPILE=build/release/voltpile python3 test_soak.py --seconds 3600 --ranks 2"""

import argparse
import asyncio
import pathlib
import shlex
import signal
import sys
import unittest

import soak
from harness import STOPPED
from serving import ServeCase
from tiny_model import EXPECTED

SETTINGS = argparse.Namespace(seconds=60, ranks=None, options="", seed=1)
# Bytes by which the processes may grow after the first third of the time: more than the allocator's own noise.
GROWTH = 24 << 20
GREEDY = EXPECTED["q8_0"]["greedy"]


def memory(process):
    """Resident bytes of a process and all that it has started."""
    total, waiting = 0, [process.pid]
    while waiting:
        folder = pathlib.Path("/proc") / str(waiting.pop())
        try:
            fields = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
            total += 1024 * int(fields["VmRSS"].split()[0])
            waiting += map(int, " ".join(path.read_text() for path in folder.glob("task/*/children")).split())
        except (FileNotFoundError, KeyError):
            continue  # it has ended
    return total


class MixedLoad(ServeCase):
    def test_mixed_load(self):
        options = ("--template", "chatml", "--sequences", "32", "--queue", "24", *shlex.split(SETTINGS.options))
        self.serve(*options, ranks=SETTINGS.ranks)
        requests = [(wanted["prompt"], {"max_tokens": len(wanted["ids"])}) for wanted in GREEDY]
        requests += [("And it came to pass", {"max_tokens": soak.LONG, "ignore_eos": True})]
        bodies = [("/v1/completions", {"prompt": prompt, "temperature": 0, **more}) for prompt, more in requests]
        chat = {"messages": [{"role": "user", "content": "Who was the king?"}], "max_tokens": 40, "temperature": 0}
        seeded = {"prompt": "In the", "max_tokens": 50, "seed": 7, "temperature": 0.8, "presence_penalty": 0.5}
        bodies[0:0] = [("/v1/chat/completions", chat), ("/v1/completions", seeded)]
        alone = asyncio.run(soak.texts_alone("127.0.0.1", self.port, bodies))
        self.assertEqual([text for *_, text in alone[2:-1]], [wanted["text"] for wanted in GREEDY])

        load = soak.Soak("127.0.0.1", self.port, alone, SETTINGS.seed)
        sizes = []

        def look(metrics):
            sizes.append(memory(self.server))
            if metrics["vllm:kv_cache_usage_perc"] != 0:
                load.fail("the idle server", f"uses {metrics['vllm:kv_cache_usage_perc']} of its KV cache")
            if SETTINGS.seconds > 60:
                print(f"{sizes[-1] / 2**20:.1f} MiB, {dict(load.counts)}", flush=True)

        asyncio.run(load.run(SETTINGS.seconds, look))
        self.assertEqual(load.failures[:5], [])
        self.assertGreater(len(load.counts), 6, load.counts)  # all kinds of clients
        settled = max(sizes[: 1 + len(sizes) // 3])
        self.assertLess(sizes[-1] - settled, GROWTH, sizes)
        self.server.send_signal(signal.SIGUSR1)
        self.finish(self.server, expect=STOPPED)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--ranks", type=int, help="run under mpirun with this many ranks")
    parser.add_argument("--options", default="", help="further options of serve, as one text")
    parser.add_argument("--seed", type=int, default=1)
    parser.parse_args(namespace=SETTINGS)
    unittest.main(argv=sys.argv[:1], verbosity=2)
