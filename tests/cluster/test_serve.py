"""`voltpile serve` over three nodes, as one pipeline and as three replicas: a node or a rank dies while streams are open."""

import json
import time
import unittest

from harness import wait_for
from voltpile_case import SHARED_CORES, SOURCE, VOLTPILE, VoltpileCase

MODEL = SOURCE / "data/tiny_model/tiny-q8_0.gguf"
GREEDY = json.loads((SOURCE / "data/tiny_model/expected.json").read_text())["q8_0"]["greedy"]
LONG = {"prompt": "And", "max_tokens": 500, "ignore_eos": True, "temperature": 1, "stream": True, "n": 8}
CUTS = (["--pipeline", "3"], ["--replicas", "3"])


class ServeCase(VoltpileCase):
    def serve(self, launcher, cut, host="node1"):
        """Starts a server and waits until it listens."""
        address = self.rack.shared / "address"
        address.unlink(missing_ok=True)
        server = self.rack.start(host, [*launcher, VOLTPILE, "serve", MODEL, "--cpu", "--port", 0, "--address-file", address, *cut],
                                 env=SHARED_CORES, timeout=180)
        wait_for(lambda: address.exists() or not server.running(), 90, "the server to listen")
        if not server.running():
            self.fail(f"the server does not listen: {server.wait()}")
        self.url = address.read_text().strip()
        return server

    def mpirun_server(self, cut):
        hosts = ",".join(f"{node}:1" for node in self.rack.layout.nodes)
        return self.serve(["mpirun", "--host", hosts], cut)

    def curl(self, path, body):
        command = ["curl", "-sSN", f"{self.url}{path}", "-H", "Content-Type: application/json", "-d", json.dumps(body)]
        return self.rack.start("node1", command, timeout=90)

    def check_texts(self):
        clients = [self.curl("/v1/completions", {"prompt": wanted["prompt"], "max_tokens": len(wanted["ids"]), "temperature": 0})
                   for wanted in GREEDY]
        for client, wanted in zip(clients, GREEDY):
            done = client.wait()
            self.assertEqual(done.returncode, 0, done)
            self.assertEqual(json.loads(done.stdout)["choices"][0]["text"], wanted["text"], done)


class DeadNode(ServeCase):
    def broken_off(self, streams):
        for stream in streams:
            done = stream.wait()
            events = [line for line in done.stdout.splitlines() if line.startswith("data: ")]
            self.assertNotIn("data: [DONE]", events, done)
            self.assertTrue('"error"' in events[-1] or done.returncode not in (0, 124), done)

    def open_streams(self):
        streams = [self.curl("/v1/completions", {**LONG, "seed": seed}) for seed in range(3)]
        for stream in streams:
            wait_for(lambda: "data: " in stream.stdout, 60, "the first event")
        return streams

    def test_other_replicas_go_on_when_a_node_dies(self):
        server = self.mpirun_server(["--replicas", "3"])
        self.rack.run("node3", ["pkill", "-STOP", "-x", "voltpile"], expect=0)  # so that its requests last until it crashes
        streams = self.open_streams()  # each has requests on every node
        self.rack.crash("node3")
        self.broken_off(streams)
        self.assertIn("replica 2 has failed: rank 2 on node3 has been silent for 15 s: its process is suspended, its node is down "
                      "or the link to it is cut; 2 of 3 replicas are left", server.stderr)
        self.check_texts()
        server.end()
        self.rack.boot("node3")
        self.mpirun_server(["--replicas", "3"])
        self.check_texts()

    def test_a_pipeline_ends_when_one_of_its_nodes_dies(self):
        server = self.mpirun_server(["--pipeline", "3"])
        streams = self.open_streams()
        self.rack.crash("node3")
        crashed = time.monotonic()
        self.broken_off(streams)
        self.assertLess(time.monotonic() - crashed, 60)  # 20 s, on a machine that does nothing else
        wait_for(lambda: "rank 2 on node3" in server.stderr, 30, "the reason")
        server.end()
        self.rack.boot("node3")
        self.mpirun_server(["--pipeline", "3"])
        self.check_texts()

    def test_a_pipeline_ends_when_one_of_its_ranks_dies(self):
        server = self.mpirun_server(["--pipeline", "3"])
        self.check_texts()
        streams = self.open_streams()
        self.rack.run("node3", ["pkill", "-KILL", "-x", "voltpile"], expect=0)
        self.broken_off(streams)
        self.assertNotIn(server.wait().returncode, (0, 124))
        self.mpirun_server(["--pipeline", "3"])
        self.check_texts()


class Telemetry(ServeCase):
    def test_of_nodes_with_disks_of_their_own_is_kept_on_that_of_rank_0(self):
        import h5py

        log = "serve.telemetry.h5"
        server = self.mpirun_server(["--replicas", "3", "--telemetry", self.rack.local / log])
        disk = self.rack.disk("node1")

        def nodes_with_samples():
            return {file.read_text().split("\n", 1)[0] for file in (disk / f"{log}.samples").glob("telemetry-*.csv")}

        wait_for(lambda: nodes_with_samples() == {"# node1", "# node2", "# node3"}, 120,
                 "samples of all nodes on node1")  # on cores nothing is kept in the first minute
        self.rack.run("node1", ["pkill", "-USR1", "-x", "mpirun"], expect=0)
        server.wait()
        with h5py.File(disk / log) as file:
            self.assertEqual(set(file["telemetry"]), {"node1", "node2", "node3"})
            for node in file["telemetry"].values():
                self.assertGreater(len(node["time"]), 10)


class Slurm(ServeCase):
    with_slurm = True

    def test_srun(self):
        for cut in CUTS:
            with self.subTest(cut=cut):
                server = self.serve(["srun", "--mpi=pmix", "-N3", "--ntasks-per-node=1"], cut, host="head")
                self.check_texts()
                job = self.rack.head("squeue", "-h", "-o", "%A").split()[0]
                self.rack.head("scancel", "--signal=USR1", job)
                ended = server.wait()
                self.assertIn("stopping", ended.stderr)
                self.assertEqual(ended.returncode, 5, ended)


    def test_others_end_when_the_first_rank_dies(self):
        server = self.serve(["srun", "--mpi=pmix", "--kill-on-bad-exit=0", "-N3", "--ntasks-per-node=1"], ["--replicas", "3"],
                            host="head")
        self.check_texts()
        self.rack.run("node1", ["pkill", "-KILL", "-x", "voltpile"], expect=0)
        ended = server.wait()
        self.assertNotIn(ended.returncode, (0, 124), ended)


if __name__ == "__main__":
    unittest.main()
