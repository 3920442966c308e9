"""Servers in Slurm's queue: address, load, requests from another node, draining, and the next life."""

import json
import re
import unittest

from harness import wait_for
from voltpile_case import SOURCE, VOLTPILE, VoltpileCase

MODEL = SOURCE / "data/tiny_model/tiny-q8_0.gguf"
JOB = f"""
app = "serve"
[model]
path = "{MODEL}"
[serve]
host = "0.0.0.0"
port = 0
grace = 300
[engine]
context = 512
sequences = 4
replicas = 1
[run]
device = "cpu"
"""


class Serve(VoltpileCase):
    with_slurm = True

    def setUp(self):
        self.folder = self.rack.shared / self._testMethodName
        (self.folder / "results").mkdir(parents=True)
        self.job = self.folder / "lab.toml"
        self.job.write_text(JOB)
        self.address = self.folder / "results/lab.address"

    def voltpile(self, *arguments, expect=0):
        return self.rack.run("head", [VOLTPILE, *arguments], cwd=self.folder, expect=expect)

    def submit(self, *options):
        out = self.voltpile("submit", self.job, "--nodes", "2", "--tasks-per-node", "1", *options).stdout
        self.assertIn(f"address {self.address}\n", out)
        return re.search(r"^job +(\d+) ", out, re.M).group(1)

    def log(self):
        return "".join(path.read_text() for path in self.folder.glob("results/*.log"))

    def url(self, job_id, restarts=0):
        """Waits until this life of the job serves. Returns its address."""
        def served():
            job = self.rack.job(job_id)
            return job["JobState"] == "RUNNING" and int(job["Restarts"]) == restarts and self.address.exists()
        wait_for(served, 90, f"life {restarts} to serve")
        return self.address.read_text().strip()

    def curl(self, url, **more):
        body = json.dumps({"prompt": "And", "max_tokens": 8, "temperature": 0, **more})
        return ["curl", "-sSN", f"{url}/v1/completions", "-H", "Content-Type: application/json", "-d", body]

    def text(self, url):
        answer = self.rack.run("head", self.curl(url), expect=0)
        return json.loads(answer.stdout)["choices"][0]["text"]

    def test_drains_and_moves_to_the_next_life(self):
        job_id = self.submit()
        url = self.url(job_id)
        self.assertRegex(url, r"^http://node\d:\d+$")
        text = self.text(url)
        self.assertRegex(self.voltpile("status").stdout, rf"(?m)^job {job_id} serves at {url}: 0 running, 0 waiting, [\d.e+-]+ tokens/s$")
        detail = self.voltpile("status", job_id).stdout
        self.assertIn(f"address    {url}\n", detail)
        self.assertIn(f"file       {self.address}\n", detail)
        stream = self.rack.start("head", self.curl(url, max_tokens=500, ignore_eos=True, stream=True, n=64), timeout=280)
        wait_for(lambda: json.loads(self.voltpile_load())["running"] == 4, 30, "four sequences in the status file")
        self.rack.head("scancel", "--batch", "--signal=USR1", job_id)  # as Slurm does for --signal=B:USR1@N
        self.assertEqual(stream.wait().stdout.count("data: [DONE]"), 1)
        self.assertEqual(self.text(self.url(job_id, restarts=1)), text)
        self.assertIn("goes back into the queue (stopped)", self.log())
        self.voltpile("cancel", job_id)
        self.rack.wait_job(job_id, "CANCELLED", 30)

    def voltpile_load(self):
        return (self.folder / "results/lab.address.json").read_text()

    def test_real_time_limit(self):
        # Slurm checks for pending signals every 30 s.
        job_id = self.submit("--time", "2", "--set", "serve.grace=5", "--", "--signal=B:USR1@100")
        text = self.text(self.url(job_id))
        wait_for(lambda: "time limit ahead: asks the ranks to stop" in self.log(), 90, "Slurm's signal")
        self.assertEqual(self.text(self.url(job_id, restarts=1)), text)
        self.rack.head("scancel", job_id)

    def test_preempted(self):
        job_id = self.submit("--set", "serve.grace=10", "--", "--partition=low")  # whose GraceTime is 20 s
        url = self.url(job_id)
        text = self.text(url)
        nodes = self.rack.job(job_id)["NodeList"]
        stream = self.rack.start("head", self.curl(url, max_tokens=200, ignore_eos=True, stream=True), timeout=100)
        wait_for(lambda: "data: " in stream.stdout, 60, "the first event")
        self.rack.sbatch("#!/bin/sh\nsleep 1\n", "-phigh", f"-w{nodes}", "-N2", "--exclusive", "-o/dev/null")
        self.assertEqual(stream.wait().stdout.count("data: [DONE]"), 1)
        self.assertEqual(self.text(self.url(job_id, restarts=1)), text)
        self.assertIn("stopping: finishing requests for at most 10 s", self.log())
        self.rack.head("scancel", job_id)

    def test_submit_leaves_the_grace_period(self):
        script = self.voltpile("submit", self.job, "--dry-run", "--set", "serve.grace=300", "--time", "1:00:00").stdout
        lead = int(re.search(r"--signal=B:USR1@(\d+)", script).group(1))
        self.assertGreaterEqual(lead, 300)
        self.assertLess(lead, 600)
        self.assertIn("#SBATCH --requeue", script)
        refused = self.voltpile("submit", self.job, "--set", "serve.grace=300", "--time", "5", expect=3)
        self.assertIn("a time limit of 00:05:00 is too short", refused.stderr)
        self.assertIn("--array: the app serve has no points", self.voltpile("submit", self.job, "--array", "2", expect=2).stderr)


if __name__ == "__main__":
    unittest.main()
