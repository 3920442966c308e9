"""Jobs under Slurm survive every failure: each ends complete and correct without intervention."""

import time
import unittest

from voltpile_case import VOLTPILE, VoltpileCase, fields, map_job


class Survival(VoltpileCase):
    with_slurm = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.job = cls.rack.shared / "map.toml"
        cls.job.write_text(map_job(x=80, y=60, steps=300000, range_points=60) + "[stop]\nseparation = inf\n")  # seconds
        cls.expected = cls.alone(cls.job, "reference.h5")

    def submit(self, *options):
        """Starts a job on two of the three nodes, so that one may fail. Returns the job, its result and its nodes."""
        self.result = self.rack.shared / f"{self._testMethodName}.h5"
        self.rack.run("head", [VOLTPILE, "submit", self.job, "--output", self.result, "--nodes", "2",
                               "--tasks-per-node", "2", *options], expect=0)
        job = self.rack.head("squeue", "-h", "-o", "%A").split()[0]
        self.rack.wait_job(job, "RUNNING COMPLETED", 60)
        first, last = self.nodes_of(job)
        self.wait_for_parts(self.result, 4)  # last: the failure must happen before the job is complete
        return job, first, last

    def nodes_of(self, job):
        return self.rack.head("scontrol", "show", "hostnames", self.rack.job(job)["NodeList"]).split()

    def check(self, job, lives, since):
        """Asserts that the job is complete and correct after this many runs and that no process still works on it."""
        self.rack.wait_job(job, "COMPLETED", 120)
        print(f"{self._testMethodName}: complete {time.monotonic() - since:.1f} s after the event", flush=True)
        self.assertEqual(fields(self.result), self.expected)
        log = (self.rack.shared / f"{self.result.stem}-{job}.log").read_text()
        self.assertEqual(int(self.rack.job(job)["Restarts"]), lives - 1, log)
        if lives > 1:
            shown = self.rack.run("head", [VOLTPILE, "show", self.result], expect=0).stdout
            self.assertRegex(shown, rf"lives +{lives}\n")
            self.assertIn(f"slurm {job}, started again once", shown)

    def test_requeued_by_hand(self):
        job, _, _ = self.submit()
        since = time.monotonic()
        self.rack.head("scontrol", "requeue", job)
        self.check(job, 2, since)

    def test_signal_requeues(self):
        job, _, _ = self.submit()
        since = time.monotonic()
        self.rack.head("scancel", "--batch", "--signal=USR1", job)
        self.check(job, 2, since)

    def test_slurmd_is_killed(self):
        # Stops the ranks while Slurm notices, because they would finish earlier.
        job, _, last = self.submit()
        since = time.monotonic()
        self.rack.slurmd(last, "kill")
        self.rack.run(last, ["pkill", "-STOP", "-x", "voltpile"], expect=0)
        self.rack.wait_job(job, "PENDING", 60)
        self.rack.run(last, ["pkill", "-CONT", "-x", "voltpile"])
        self.check(job, 2, since)

    def test_slurmctld_restarts(self):
        job, _, _ = self.submit()
        since = time.monotonic()
        self.rack.slurmctld("restart")
        self.check(job, 1, since)

    def test_node_crashes(self):
        job, _, last = self.submit()
        since = time.monotonic()
        self.rack.crash(last)
        self.check(job, 2, since)

    def test_batch_node_crashes(self):
        job, first, _ = self.submit()
        since = time.monotonic()
        self.rack.crash(first)
        self.check(job, 2, since)

    def test_link_is_cut(self):
        job, _, last = self.submit()
        since = time.monotonic()
        self.rack.cut(last)
        self.check(job, 2, since)

    def test_link_of_batch_node_is_cut(self):
        # Rank 0 survives there; it holds the lock and sees the shared folder.
        job, first, _ = self.submit()
        since = time.monotonic()
        self.rack.cut(first)
        self.check(job, 2, since)
        result = self.result.read_bytes()
        self.rack.heal(first)
        time.sleep(2)
        self.assertEqual(self.result.read_bytes(), result)
        self.assertFalse((self.rack.shared / f"{self.result.name}.parts").exists())


if __name__ == "__main__":
    unittest.main()
