"""The same map, bit for bit, however and wherever it is computed."""

import unittest

from harness import wait_for
from voltpile_case import SHARED_CORES, SOURCE, VOLTPILE, VoltpileCase, fields, map_job

# The least traffic of six ranks on three nodes, in bytes.
LEAST_TRAFFIC = 10_000


class Identical(VoltpileCase):
    with_slurm = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.job = cls.rack.shared / "map.toml"
        cls.job.write_text(map_job())
        cls.expected = cls.alone(cls.job, "alone.h5")

    def by_mpirun(self, transport):
        before = {node: self.rack.bytes_sent(node) for node in self.rack.layout.nodes}
        out = self.mpirun("run", self.job, "--set", f"cluster.transport={transport}", "--output",
                          f"{transport}.h5").stdout
        for node, sent in before.items():
            self.assertGreater(self.rack.bytes_sent(node), sent + LEAST_TRAFFIC, f"{node} said nothing over the wire")
        self.assertEqual(fields(self.rack.shared / f"{transport}.h5"), self.expected)
        return out

    def test_mpirun_over_tcp(self):
        self.assertIn(": TCP over eth0", self.by_mpirun("tcp"))

    def test_mpirun_over_ucx(self):
        self.assertIn(": UCX/TCP over eth0", self.by_mpirun("ucx"))

    def test_hostfile(self):
        hosts = self.write("hosts", "node1 slots=2\nnode2 slots=2  # with a comment\nnode3 slots=2\n")
        self.rack.run("head", ["mpirun", "--hostfile", hosts, VOLTPILE, "run", self.job, "--output", "hostfile.h5"],
                      env=SHARED_CORES, expect=0, timeout=120)
        self.assertEqual(fields(self.rack.shared / "hostfile.h5"), self.expected)

    def test_srun(self):
        before = self.rack.bytes_sent("node3")
        self.rack.head("srun", "--mpi=pmix", "-N3", "--ntasks-per-node=2", VOLTPILE, "run", self.job, "--output",
                       "srun.h5", timeout=120)
        self.assertGreater(self.rack.bytes_sent("node3"), before + LEAST_TRAFFIC)
        self.assertEqual(fields(self.rack.shared / "srun.h5"), self.expected)

    def test_sbatch(self):
        for launcher in ("srun", "mpirun"):
            with self.subTest(launcher=launcher):
                job = self.rack.head("sbatch", "--parsable", "-N3", "--ntasks-per-node=2",
                                     f"--export=ALL,VOLTPILE={VOLTPILE},VOLTPILE_LAUNCHER={launcher}",
                                     SOURCE / "slurm/run.sbatch", self.job, "--output", f"{launcher}-sbatch.h5")
                self.rack.wait_job(int(job), "COMPLETED", 60)
                self.assertEqual(fields(self.rack.shared / f"{launcher}-sbatch.h5"), self.expected)

    def test_array_of_four(self):
        self.rack.run("head", [VOLTPILE, "submit", self.job, "--array", "4", "--nodes", "1", "--tasks-per-node", "1",
                               "--output", "array.h5"], expect=0)
        job = self.rack.head("squeue", "-h", "-t", "all", "-o", "%F").split()[0]
        for element in range(4):
            self.rack.wait_job(f"{job}_{element}", "COMPLETED", 60)
        self.assertEqual(fields(self.rack.shared / "array.h5"), self.expected)
        self.assertFalse((self.rack.shared / "array.h5.parts").exists())

    def test_node_local_disks(self):
        out = self.mpirun("run", self.job, "--output", self.rack.local / "local.h5").stdout
        self.assertRegex(out, "node2, node3 do not see .*local.h5.parts")
        self.assertEqual(fields(self.rack.disk("node1") / "local.h5"), self.expected)
        for node in ("node2", "node3"):
            self.assertEqual(list(self.rack.disk(node).glob("local.h5*")), [])

    def test_telemetry_of_a_lost_node_with_its_own_disk_is_kept(self):
        result = self.rack.local / "lost.h5"
        settings = [f"--set={each}" for each in ("integrate.steps=4000000", "stop.separation=inf", "telemetry.record=yes",
                                                 "telemetry.every_s=0.5")]
        run = self.rack.start("node1", ["mpirun", "--host", "node1,node2", VOLTPILE, "run", self.job, "--output", result,
                                        *settings], env=SHARED_CORES, timeout=120)

        def samples_of(node):
            texts = [file.read_text().splitlines() for file in (self.rack.disk("node1") / "lost.h5.parts").glob("telemetry-*.csv")]
            return [line for text in texts if text[0] == f"# {node}" for line in text[2:]]

        wait_for(lambda: len(samples_of("node2")) >= 10, 60, "samples of node2 on the disk of node1")
        self.rack.crash("node2")
        run.end()
        samples = samples_of("node2")
        self.assertGreaterEqual(len(samples), 10)
        times = [float(line.split(",")[0]) for line in samples]
        self.assertEqual(times, sorted(set(times)))
        self.assertTrue(samples_of("node1"))

    def test_top_asks_the_nodes_that_do_not_share_the_folder(self):
        result = self.rack.local / "long.h5"
        settings = [f"--set={each}" for each in ("integrate.steps=4000000", "stop.separation=inf", "telemetry.record=yes",
                                                 "telemetry.port=9464", 'telemetry.host="0.0.0.0"')]
        run = self.rack.start("node1", ["mpirun", "--host", "node1,node2", VOLTPILE, "run", self.job, "--output", result,
                                        *settings], env=SHARED_CORES, timeout=120)
        top = [VOLTPILE, "top", result, "--once"]
        page = wait_for(lambda: "\nnode2  cpu " in self.rack.run("node1", top).stdout, 60, "node2 on the page of node1")
        self.assertTrue(page)
        self.assertIn("\nnode1  cpu ", self.rack.run("node1", top, expect=0).stdout)
        run.end()


if __name__ == "__main__":
    unittest.main()
