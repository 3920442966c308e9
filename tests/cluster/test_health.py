"""slurm/health.sh under a real slurmd: as HealthCheckProgram and as Prolog."""

import json
import pathlib
import unittest

from harness import wait_for
from voltpile_case import SOURCE, VOLTPILE, VoltpileCase

STAND_IN = pathlib.Path(VOLTPILE).parent / "tests/stand_in/libnvidia-ml.so.1"


class HealthCase(VoltpileCase):
    with_slurm = True

    def configure(self, line, without=None):
        """Lets every node run health.sh; node2 has a GPU with memory errors, and the driver of node3 hangs."""
        folder = self.rack.shared / self._testMethodName
        folder.mkdir()
        node = json.loads((SOURCE / "tests/stand_in/t180.json").read_text())
        (folder / "node1.json").write_text(json.dumps(node))
        (folder / "node3.json").write_text(json.dumps({**node, "hang": True}))
        node["gpus"][2]["ecc_uncorrected"] = 1
        (folder / "node2.json").write_text(json.dumps(node))
        conf = self.rack.layout.slurm_conf
        before = conf.read_text()
        self.addCleanup(self.reconfigure, before)
        program = self.write("health", f"#!/bin/sh\nexport SLURM_CONF={conf} VOLTPILE={VOLTPILE} VOLTPILE_NVML={STAND_IN} "
                             f"VOLTPILE_STAND_IN_NODE={folder}/$(hostname).json\nexec {SOURCE}/slurm/health.sh\n")
        program.chmod(0o755)
        self.reconfigure("".join(each for each in before.splitlines(True) if not (without and each.startswith(without))) +
                         line.format(program=program))

    def reconfigure(self, text):
        self.rack.layout.slurm_conf.write_text(text)
        self.rack.run("head", ["scontrol", "reconfigure"], expect=0)

    def reasons(self):
        """Returns why nodes are drained, by node."""
        out = self.rack.run("head", ["sinfo", "-h", "-N", "-p", "main", "-t", "drain", "-o", "%N %E"], expect=0).stdout
        return dict(line.split(" ", 1) for line in out.splitlines())

    def wait_for_drains(self):
        wait_for(lambda: len(self.reasons()) == 2, 240, "node2 and node3 are drained", interval=1)
        reasons = self.reasons()
        self.assertTrue(reasons["node2"].startswith("voltpile check: GPU 2 (0000:3a:00.0): 1 uncorrectable"), reasons)
        self.assertEqual(reasons["node3"], "voltpile check: the NVIDIA driver hangs: no answer in 20 s")


class HealthCheck(HealthCase):
    def test_drains_bad_nodes_as_health_check(self):
        self.configure("HealthCheckProgram={program}\nHealthCheckInterval=5\n")
        self.wait_for_drains()


class Prolog(HealthCase):  # on a rack of its own: a check that is under way may drain nodes later
    def test_requeues_the_jobs_of_bad_nodes_as_prolog(self):
        self.configure("Prolog={program}\n", without="Prolog=")
        jobs = {node: self.rack.run("head", ["sbatch", "--parsable", "-w", node, "-o", "/dev/null", "--wrap", "true"], expect=0).stdout.strip()
                for node in ("node1", "node2", "node3")}
        self.wait_for_drains()

        def states():
            return {node: self.rack.run("head", ["squeue", "-h", "-t", "all", "-j", job, "-o", "%T %r"], expect=0).stdout.strip()
                    for node, job in jobs.items()}

        wait_for(lambda: states()["node1"].startswith("COMPLETED"), 120, "a healthy node runs its job")
        for node in ("node2", "node3"):
            wait_for(lambda: states()[node].startswith("PENDING"), 120, "the job of a bad node is requeued", interval=1)


if __name__ == "__main__":
    unittest.main()
