"""Jobs of the app serve: the server of `voltpile serve`, its plan, its status file, and what is refused."""

import json
import re
import signal
import socket
import time
import unittest

from harness import BAD_INPUT, CANNOT_RUN, PATIENCE, SOURCE, STOPPED
from serving import ENDLESS, LONG_CONTEXT, MODEL, ServeCase
from tiny_model import EXPECTED

GREEDY = EXPECTED["q8_0"]["greedy"]
JOBS = SOURCE / "jobs/llm"

JOB = f"""app = "serve"
[model]
path = "{MODEL}"
[serve]
port = 0
grace = 300
[engine]
context = 512
sequences = 4
replicas = 1
[run]
device = "cpu"
"""


class ServeJobCase(ServeCase):
    def setUp(self):
        super().setUp()
        self.job = self.write("lab.toml", JOB)
        self.address = self.folder / "results/lab.address"
        self.load = self.folder / "results/lab.address.json"

    def serve_job(self, *sets, ranks=None):
        self.start_server(self.address, "run", self.job, *(word for each in sets for word in ("--set", each)), ranks=ranks)

    def wait_for_node(self, *subject):
        """Returns what top shows once it has the node's cores in use, which take two samples."""
        deadline = time.monotonic() + 60 * PATIENCE
        while True:
            out, _ = self.voltpile("top", *subject, "--once")
            if re.search(r"^\S+  cpu \d+ %  memory \S+ [MG]B of ", out, re.MULTILINE):
                return out
            self.assertLess(time.monotonic(), deadline, out)

    def refused(self, *arguments, command="run", expect=BAD_INPUT, ranks=None):
        _, err = self.voltpile(command, self.job, *arguments, expect=expect, ranks=ranks)
        return err


class Serving(ServeJobCase):
    def test_serves_as_the_command_does(self):
        for sets, ranks in (((), None), (("engine.tensor=2",), 2), (("engine.tensor=1", "engine.pipeline=2"), 2),
                            (("engine.tensor=1", "engine.replicas=2"), 2)):
            with self.subTest(sets=sets, ranks=ranks):
                self.serve_job(*sets, ranks=ranks)
                body = {"prompt": GREEDY[0]["prompt"], "max_tokens": len(GREEDY[0]["ids"]), "temperature": 0}
                self.assertEqual(self.post("/v1/completions", body).json["choices"][0]["text"], GREEDY[0]["text"])
                self.assertEqual(self.get("/v1/models").json["data"][0]["id"], "tiny-q8_0")
                self.server.send_signal(signal.SIGUSR1)  # mpirun forwards it
                self.finish(self.server, expect=STOPPED)
                self.assertEqual(list((self.folder / "results").iterdir()), [])

    def test_keys_of_serve_reach_the_server(self):
        self.write("keys.txt", "alpha\n")
        self.job.write_text(JOB.replace("port = 0", 'port = 0\nname = "parrot"\ntemplate = "chatml"\napi_key_file = "keys.txt"\nbody_mb = 1'))
        self.serve_job("serve.cors_origin=['https://chat.example']")
        self.assertEqual(self.get("/v1/models").status, 401)
        key = {"Authorization": "Bearer alpha", "Origin": "https://chat.example"}
        models = self.get("/v1/models", key)
        self.assertEqual(models.json["data"][0]["id"], "parrot")
        self.assertEqual(models.headers["Access-Control-Allow-Origin"], "https://chat.example")
        self.assertEqual(self.post("/v1/completions", {"prompt": "a" * 2_000_000}, key).status, 413)

    def test_nodes_on_a_port(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.serve_job(f"telemetry.port={port}")
        self.wait_for_node("--nodes", f"127.0.0.1:{port}")

    def test_top_shows_the_server_and_its_node(self):
        self.serve_job()
        for subject in ([self.address], ["results/lab.h5"], []):
            out = self.wait_for_node(*subject)
            self.assertIn(f"lab at {self.url}  0 running  0 waiting  ", out)
        self.server.send_signal(signal.SIGTERM)
        self.finish(self.server, expect=STOPPED)
        self.assertEqual(list((self.folder / "results").iterdir()), [])
        self.assertIn("no server has this address file", self.voltpile("top", self.address, expect=BAD_INPUT)[1])

    def test_status_and_cancel_by_the_address_file(self):
        self.serve_job(f"engine.context={LONG_CONTEXT[1]}")
        client = self.send_post("/v1/completions", ENDLESS)
        deadline = time.monotonic() + 60 * PATIENCE
        while json.loads(self.load.read_text())["running"] != 4:
            self.assertLess(time.monotonic(), deadline, self.load.read_text())
            time.sleep(0.1)
        out, _ = self.voltpile("status", self.address)
        self.assertIn(f"address    {self.url}\n", out)
        self.assertRegex(out, r"load       4 running, \d+ waiting, [\d.e+]+ tokens/s\n")
        out, _ = self.voltpile("list")
        self.assertRegex(out, rf"^server +load +address file\n{self.url} +\d+ running, \d+ waiting, .* tokens/s +\./results/lab.address\n$")
        for command in ("show", "plot", "verify"):
            _, err = self.voltpile(command, self.address, expect=BAD_INPUT)
            self.assertIn("lab.address is the address of a server, which has no result", err)
        out, _ = self.voltpile("cancel", self.address)
        self.assertIn(f"asked process {self.server.pid} on", out)
        client.close()  # the request need not be finished
        self.finish(self.server, expect=STOPPED)
        self.assertIn("no such server", self.voltpile("status", self.address, expect=BAD_INPUT)[1])

    def test_a_server_leaves_the_files_of_its_successor(self):
        self.serve_job()
        self.address.unlink()
        self.address.write_text("http://node2:8000\n")
        self.server.send_signal(signal.SIGTERM)
        self.finish(self.server, expect=STOPPED)
        self.assertEqual(self.address.read_text(), "http://node2:8000\n")

    def test_the_file_of_a_killed_server(self):
        self.serve_job()
        self.server.kill()
        self.server.wait()
        self.assertIn("no server of this address runs here any more", self.voltpile("cancel", self.address, expect=BAD_INPUT)[1])

    def test_the_time_limit_stops_it(self):
        for ranks in (None, 2):
            with self.subTest(ranks=ranks):
                _, err = self.voltpile("run", self.job, "--set", "run.time_limit_s=1", ranks=ranks, expect=STOPPED)
                self.assertIn("stopping: finishing requests for at most 300 s", err)


class Refused(ServeJobCase):
    def test_options_about_results(self):
        options = (("--output", "a.h5"), ("--fresh",), ("--shard", "0/2"), ("--jsonl", "a.jsonl"), ("--take-over",))
        for option in options:
            for ranks in (None, 2):
                with self.subTest(option=option, ranks=ranks):
                    err = self.refused(*option, ranks=ranks)
                    says = f"{self.job}: {option[0]} is for jobs with a result; the app serve has none: it serves until it is stopped\n"
                    self.assertEqual(err.count(says), 1, err)
        for command in ("plan", "submit"):
            self.assertIn("--output is for jobs with a result", self.refused("--output", "a.h5", command=command))
        self.assertIn("--array: the app serve has no points", self.refused("--array", "2", command="submit"))
        self.assertFalse((self.folder / "results").exists())

    def test_names_the_line_of_wrong_keys(self):
        cases = (
            ("prot = 8000", "lab.toml:6: unknown key serve.prot; did you mean serve.port?"),
            ("queue = -1", "lab.toml:6: serve.queue = -1: must be at least 0"),
            ("connections = 0", "lab.toml:6: serve.connections = 0: must be at least 1"),
            ('host = ""', "lab.toml:6: serve.host is empty"),
            ('tls_cert = "a.pem"', "lab.toml:6: serve.tls_cert needs serve.tls_key"),
            ('tls_key = "a.pem"', "lab.toml:6: serve.tls_key needs serve.tls_cert"),
            ("cors_origin = [\"\"]", "lab.toml:6: serve.cors_origin contains an empty string"),
            ('api_key_file = "gone.txt"', "lab.toml:6: serve.api_key_file: cannot read gone.txt: No such file or directory"),
            ('template = "chatmel"', "lab.toml:6: serve.template: "),
            ('tls_cert = "gone.pem"\ntls_key = "gone.pem"', "lab.toml:6: serve.tls_cert: cannot read gone.pem"),
            ('host = "no.such.host.invalid"', "lab.toml:6: serve.host: cannot listen on host no.such.host.invalid"),
            ("[run]\nrange_seconds = 3", "lab.toml:7: run.range_seconds: a server computes no ranges"),
            ("[[sweep]]\ncount = 3", "lab.toml:6: [[sweep]]: the app serve has no sweep"),
        )
        for lines, says in cases:
            with self.subTest(lines=lines):
                text = JOB.replace("grace = 300", lines)
                self.job.write_text(text.split("[run]\ndevice")[0] if "[run]" in lines else text)
                self.assertIn(says, self.refused())
        self.job.write_text(JOB)
        self.assertIn("--set serve.api_key_file=gone: serve.api_key_file: cannot read gone", self.refused("--set", "serve.api_key_file=gone"))
        self.assertIn("engine.cache_tokens = 100 is too small", self.refused("--set", "engine.cache_tokens=100"))

    def test_a_port_that_is_taken(self):
        self.serve_job()
        self.job.write_text(JOB.replace("port = 0", f"port = {self.port}"))
        for ranks in (None, 2):
            with self.subTest(ranks=ranks):
                err = self.refused(expect=CANNOT_RUN, ranks=ranks)
                self.assertIn(f"lab.toml:5: serve.port: cannot listen on 127.0.0.1:{self.port}: Address already in use", err)


class Plans(ServeJobCase):
    def test_plan_says_how_much_fits(self):
        for ranks in (None, 2):
            with self.subTest(ranks=ranks):
                out, _ = self.voltpile("plan", self.job, ranks=ranks)
                self.assertIn("answers at most 4 requests at once, of at most 512 tokens each and 2,048 together; 256 more may wait", out)
                self.assertRegex(out, r"layers 0 to \d: .* of weights a rank, .* for the keys and values of 2,048 tokens")
                self.assertNotRegex(out, "(?m)^(points|work|result|time) ")

    def test_threads_limit_the_cores_of_a_rank(self):
        out, _ = self.voltpile("plan", self.job, "--set", "run.threads=1", "--set", "run.device=cpu")
        self.assertIn(" 1 core of ", out)

    def test_plan_counts_all_replicas(self):
        out, _ = self.voltpile("plan", self.job, "--set", "engine.tensor=1", "--set", "engine.replicas=2", ranks=2)
        self.assertIn("answers at most 8 requests at once, of at most 512 tokens each and 4,096 together; 256 more may wait", out)

    def test_every_shipped_job_plans(self):
        shipped = {"serve_llama3_8b": ("llama-3-8b", ("t180", "t181_x3")), "serve_llama3_70b_3_nodes": ("llama-3-70b", ("t181_x3",))}
        self.assertEqual(set(shipped) | {"serve_tiny"}, {path.stem for path in JOBS.glob("serve_*.toml")})
        for name, (shape, clusters) in shipped.items():
            for cluster in clusters:
                with self.subTest(job=name, cluster=cluster):
                    plan = ("plan", JOBS / f"{name}.toml", "--cluster", SOURCE / f"data/clusters/{cluster}.toml", "--set", f"model.synthetic={shape}")
                    _, err = self.voltpile(*plan, expect=BAD_INPUT)
                    self.assertRegex(err, r"toml:\d+: serve.api_key_file: cannot read keys.txt")
                    self.write("keys.txt", "alpha\n")
                    self.assertIn("requests at once", self.voltpile(*plan)[0])
                    (self.folder / "keys.txt").unlink()
        self.voltpile("plan", JOBS / "serve_tiny.toml", "--set", f"model.path={MODEL}")

    def test_refuses_what_does_not_fit(self):
        self.write("keys.txt", "alpha\n")
        _, err = self.voltpile("plan", JOBS / "serve_llama3_70b_3_nodes.toml", "--cluster", SOURCE / "data/clusters/t180.toml",
                               "--set", "model.synthetic=llama-3-70b", "--set", "engine.pipeline=1", expect=CANNOT_RUN)
        self.assertIn("the model does not fit", err)


if __name__ == "__main__":
    unittest.main()
