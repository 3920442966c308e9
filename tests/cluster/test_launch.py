"""`voltpile launch` continues a job by itself when a node, a rank or a link is lost, and leaves nothing behind."""

import json
import os
import random
import re
import signal
import time
import unittest

from harness import wait_for
from voltpile_case import SHARED_CORES, SOURCE, VOLTPILE, VoltpileCase, fields, map_job

NODES = "node1:1,node2:1,node3:1"
MORE_ABORTS = int(os.environ.get("VOLTPILE_ABORTS", "0"))  # at random moments; the figures are in docs/reliability.md
MODEL_JOB = f"""
app = "llm"
[model]
path = "{SOURCE}/data/tiny_model/tiny-q8_0.gguf"
[prompts]
files = ["{SOURCE}/jobs/llm/prompts/verses.jsonl"]
[generate]
max_tokens = 200
[engine]
context = 256
sequences = 1
pipeline = 3
[run]
device = "cpu"
threads = 1
"""


# Jobs that fail in the same way however often they are repeated: after the last range, and on one rank while others run.
HOPELESS = {"all 12 runs failed": """
app = "command"
[command]
argv = ["sh", "-c", "exit {x}"]
[[sweep]]
parameter = "x"
from = 1
to = 13
count = 12
""", "printed more than output.most_log_bytes": """
app = "command"
[command]
argv = ["sh", "-c", "[ {rank} = 1 ] && exec yes; exec sleep 60"]
instances = "rank"
stop_s = 1
[output]
most_log_bytes = 1e6
"""}


class HopelessCase(VoltpileCase):
    def check_hopeless(self, host, command):
        """command: of `launch`, without its job."""
        for number, (says, text) in enumerate(HOPELESS.items()):
            with self.subTest(says=says):
                job = self.write(f"hopeless-{number}.toml", text)
                result = self.rack.shared / f"hopeless-{host}-{number}.h5"
                done = self.rack.run(host, [*command, job, "--output", result], env=SHARED_CORES, timeout=90)
                self.assertEqual(done.returncode, 4, done)
                self.assertEqual(done.stdout.count("launch: attempt "), 2, done.stdout)  # its start and its end
                self.assertIn("another attempt would fail in the same way", done.stdout)
                self.assertRegex(done.stdout, f"launch: verdict: .*{says}")


class Launch(HopelessCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.job = cls.rack.shared / "map.toml"
        cls.job.write_text(map_job(x=120, y=80, steps=30000, range_points=40))
        cls.expected = cls.alone(cls.job, "reference.h5")

    def launch(self, *options, hosts=NODES, host="node1"):
        self.result = self.rack.shared / f"{self._testMethodName}.h5"
        return self.rack.start(host, [VOLTPILE, "launch", self.job, "--host", hosts, "--output", self.result, *options],
                               env=SHARED_CORES, timeout=120)

    def left_on(self, nodes=("node1", "node2", "node3")):
        """Returns the processes of the job, of launchers and of agents that still run."""
        return [(node, name) for node in nodes
                for name in self.rack.run(node, ["ps", "-e", "-o", "comm="]).stdout.split()
                if name in ("voltpile", "mpirun", "orted", "voltpile-probe")]

    def check_done(self, client, attempts):
        done = client.wait()
        self.assertEqual(done.returncode, 0, done)
        self.assertRegex(done.stdout, rf"launch: done after {attempts} attempts in ")
        self.assertEqual(fields(self.result), self.expected)
        return done

    def test_continues_without_a_lost_node(self):
        client = self.launch()
        self.wait_for_parts(self.result, 4)
        since = time.monotonic()
        self.rack.crash("node3")
        wait_for(lambda: "launch: attempt 2 on node1, node2\n" in client.stdout, 30, "the second attempt")
        print(f"goes on {time.monotonic() - since:.1f} s after the crash", flush=True)
        done = self.check_done(client, 2)
        self.assertRegex(done.stdout, r"without node3: cannot be reached: ")
        logs = self.rack.shared / f"{self.result.name}.log"
        self.assertIn("\nnode3 vanished (", (logs / "attempt-1" / "verdict.txt").read_text())
        evidence = json.loads((logs / "attempt-1" / "evidence.json").read_text())
        self.assertEqual([node["name"] for node in evidence["nodes"] if not node["lost"]], ["node1", "node2"])
        for node in evidence["nodes"]:  # the lost one as well, until it was lost
            self.assertIn("cpu_percent", node["samples"][-1]["host"])
        self.assertRegex(done.stdout, r"resuming: [\d,]+ of 9,600 points are done already")
        self.assertEqual(self.left_on(["node1", "node2"]), [])
        self.assertIn("resuming: ", (logs / "attempt-2" / "rank-0.log").read_text())

    def test_names_a_lost_node_that_its_launcher_noticed_first(self):
        client = self.launch()
        self.wait_for_parts(self.result, 4)
        self.rack.crash("node3")
        self.assertEqual(self.rack.run("node1", ["pkill", "-KILL", "-x", "mpirun"]).returncode, 0)
        wait_for(lambda: "launch: attempt 2 on node1, node2\n" in client.stdout, 30, "the second attempt")
        client.signal(signal.SIGTERM)
        client.wait()
        log = self.rack.shared / f"{self.result.name}.log/attempt-1/verdict.txt"
        self.assertIn("\nnode3 vanished (", log.read_text())

    def test_continues_after_killed_ranks(self):
        client = self.launch()
        ranks = f"^{re.escape(VOLTPILE)} run "
        for attempt, node in ((1, "node2"), (2, "node1")):  # the second one is rank 0
            wait_for(lambda: f"launch: attempt {attempt} on node1, node2, node3\n" in client.stdout, 30, "the attempt")
            self.wait_for_parts(self.result, 4)
            wait_for(lambda: self.rack.run(node, ["pkill", "-KILL", "-f", ranks]).returncode == 0, 20, "a rank")
        self.check_done(client, 3)
        self.assertEqual(self.left_on(), [])

    def test_leaves_nothing_behind_when_it_is_killed(self):
        client = self.launch()
        self.wait_for_parts(self.result, 2)
        self.assertEqual({node for node, name in self.left_on() if name == "voltpile"}, {"node1", "node2", "node3"})
        client.signal(signal.SIGKILL)
        wait_for(lambda: not self.left_on(), 20, "the end of everything on three nodes")
        for number in range(MORE_ABORTS):
            client = self.launch("--fresh")
            time.sleep(random.uniform(0.2, 3))
            if client.running():
                client.signal(signal.SIGKILL)
            since = time.monotonic()
            wait_for(lambda: not self.left_on(), 20, f"the end after abort {number}")
            print(f"abort {number}: clean after {time.monotonic() - since:.1f} s", flush=True)
        again = self.launch().wait()
        self.assertEqual(again.returncode, 0, again)
        self.assertEqual(fields(self.result), self.expected)

    def test_stops_and_resumes(self):
        client = self.launch()
        self.wait_for_parts(self.result, 2)
        client.signal(signal.SIGTERM)
        stopped = client.wait()
        self.assertEqual(stopped.returncode, 5, stopped)
        self.assertIn("launch: not done: stopped after 1 attempt", stopped.stdout)
        self.assertEqual(self.left_on(), [])
        self.assertTrue(list((self.rack.shared / f"{self.result.name}.parts").glob("part-*")))

    def test_names_hosts_that_cannot_take_part(self):
        self.rack.cut("node3")
        refused = self.launch(hosts="node1:1,node3:1,node99:1").wait()
        self.assertEqual(refused.returncode, 3, refused)
        self.assertRegex(refused.stderr, "node3: cannot be reached")
        self.assertRegex(refused.stderr, "node99: this host does not know the name")
        self.assertFalse((self.rack.shared / f"{self.result.name}.log").exists())
        twice = self.launch(hosts="node1:1,node2:1,node1:2").wait()
        self.assertEqual(twice.returncode, 2, twice)
        self.assertIn("node1 is listed twice", twice.stderr)
        address = self.rack.layout.address("node2")
        twin = self.launch(hosts=f"node1:1,node2:1,{address}:1").wait()
        self.assertEqual(twin.returncode, 2, twin)
        self.assertIn(f"node2 and {address} are the same host", twin.stderr)

    def test_does_not_repeat_what_would_fail_again(self):
        self.check_hopeless("node1", [VOLTPILE, "launch", "--host", NODES])

    def test_a_model_gets_another_cut(self):
        def texts(path):
            import h5py

            with h5py.File(path, "r") as file:
                return list(file["text"].asstr())
        job = self.write("verses.toml", MODEL_JOB)
        self.result = self.rack.shared / "verses.h5"
        client = self.rack.start("node1", [VOLTPILE, "launch", job, "--host", NODES, "--output", self.result],
                                 env=SHARED_CORES, timeout=120)
        self.wait_for_parts(self.result, 1)
        self.rack.crash("node3")
        done = client.wait()
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("launch: attempt 2 on node1, node2\n", done.stdout)
        self.rack.run("node1", [VOLTPILE, "run", job, "--output", "alone.h5", "--set", "engine.pipeline=1"], expect=0)
        self.assertEqual(texts(self.result), texts(self.rack.shared / "alone.h5"))

    def test_a_server_comes_back(self):
        address = self.rack.shared / "server.address"
        client = self.rack.start("node1", [VOLTPILE, "launch", SOURCE / "jobs/llm/serve_tiny.toml", "--host", "node1:1", "--set",
                                           "run.device=cpu", "--set", "serve.port=0", "--set",
                                           f"serve.address_file={address}"], env=SHARED_CORES, timeout=120)

        def answers():
            url = address.read_text().strip() if address.exists() else "none"
            return self.rack.run("node1", ["curl", "-sf", f"{url}/v1/models"]).returncode == 0
        wait_for(answers, 40, "the server", interval=0.5)
        self.rack.run("node1", ["pkill", "-KILL", "-f", f"^{re.escape(VOLTPILE)} run "], expect=0)
        wait_for(lambda: "launch: attempt 2 on node1\n" in client.stdout and answers(), 40, "the second server", interval=0.5)
        client.signal(signal.SIGTERM)
        stopped = client.wait()
        self.assertEqual(stopped.returncode, 5, stopped)
        self.assertIn("killed", (address.parent / "server.address.log" / "attempt-1" / "verdict.txt").read_text())


class LaunchInSlurm(HopelessCase):
    with_slurm = True

    def test_does_not_repeat_what_would_fail_again(self):
        self.check_hopeless("head", ["salloc", "-N3", "--ntasks-per-node=1", "--no-kill", VOLTPILE, "launch"])

    def test_continues_without_a_lost_node(self):
        job = self.write("map.toml", map_job(x=120, y=80, steps=30000, range_points=40))
        self.result = self.rack.shared / "slurm.h5"
        command = ["salloc", "-N3", "--ntasks-per-node=1", "--no-kill", VOLTPILE, "launch", job, "--output", self.result]
        client = self.rack.start("head", command, env=SHARED_CORES, timeout=150)
        self.wait_for_parts(self.result, 4)
        since = time.monotonic()
        self.rack.crash("node3")
        wait_for(lambda: "launch: attempt 2 on node1, node2\n" in client.stdout or not client.running(), 45, "the second attempt")
        print(f"goes on {time.monotonic() - since:.1f} s after the crash", flush=True)
        done = client.wait()
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(fields(self.result), self.alone(job, "reference.h5"))

    def test_leaves_nothing_behind_when_it_is_killed(self):
        job = self.write("map.toml", map_job(x=60, y=40, steps=300000, range_points=40))
        result = self.rack.shared / "killed.h5"
        self.rack.start("head", ["salloc", "-N3", "--ntasks-per-node=1", VOLTPILE, "launch", job, "--output", result],
                        env=SHARED_CORES, timeout=150)
        self.wait_for_parts(result, 2)
        self.rack.run("head", ["pkill", "-KILL", "-f", f"^{re.escape(VOLTPILE)} launch "], expect=0)
        nodes = ("head", "node1", "node2", "node3")
        wait_for(lambda: not any(self.rack.run(node, ["pgrep", "-x", "voltpile"]).stdout for node in nodes), 30, "the end")


if __name__ == "__main__":
    unittest.main()
