"""Slurm on the rack behaves as the tests of the program's jobs expect."""

import time
import unittest

from harness import ClusterCase, wait_for

# Prints the restart count of the job, then waits for SIGTERM.
LINGER = """#!/bin/bash
trap 'echo TERM; exit 0' TERM
echo "life ${SLURM_RESTART_COUNT:-0}"
while :; do sleep 0.05; done
"""


class Slurm(ClusterCase):
    with_slurm = True

    def submit(self, script, *options):
        """Submits a script. Returns (job id, function that reads its output)."""
        name = f"{self._testMethodName}-{time.monotonic_ns()}.out"
        path = self.rack.shared / name
        job = self.rack.sbatch(script, "-o", path, "--open-mode=append", *options)
        return job, lambda: path.read_text() if path.exists() else ""

    def await_life(self, job, output, number, timeout):
        wait_for(lambda: f"life {number}\n" in output(), timeout, f"life {number} of job {job}")

    def test_srun_on_all_nodes(self):
        out = self.rack.head("srun", "-N", "3", "hostname")
        self.assertEqual(sorted(out.split()), self.rack.layout.nodes)

    def test_srun_starts_mpi_programs(self):
        out = self.rack.head("srun", "--mpi=pmix", "-N", "3", "--ntasks-per-node=2", "sh", "-c",
                             "echo $PMIX_RANK $(hostname)")
        self.assertEqual(sorted(out.splitlines()), [f"{rank} node{1 + rank // 2}" for rank in range(6)])

    def test_commands_work_on_every_host(self):
        for host in self.rack.layout.hosts:
            self.assertIn("main", self.rack.run("head", ["ssh", host, "sinfo", "-h"], expect=0).stdout)

    def test_sbatch(self):
        job, output = self.submit("#!/bin/bash\nsrun hostname\nmpirun hostname\n", "-N", "3", "--ntasks-per-node=1")
        self.rack.wait_job(job, "COMPLETED", 30)
        self.assertEqual(sorted(output().split()), sorted(self.rack.layout.nodes * 2))
        self.assertEqual(self.rack.job(job)["NumNodes"], "3")

    def test_rejects_jobs_that_cannot_run(self):
        script = self.rack.shared / "job.sh"
        script.write_text("#!/bin/bash\n")
        test = ("sbatch", "--test-only")
        self.rack.head(*test, "-N", "3", "--gres=gpu:4", "--mem=4000", script)
        for options in (("-N", "4"), ("--gres=gpu:5",), ("--mem=4001",), ("-p", "nowhere")):
            self.assertNotEqual(self.rack.run("head", [*test, *options, script]).returncode, 0, options)

    def test_gpus(self):
        show = "echo $CUDA_VISIBLE_DEVICES; sleep 1"
        two = [self.rack.start("head", ["srun", "-w", "node1", "--gres=gpu:2", "bash", "-c", show]) for _ in range(2)]
        seen = [client.wait().stdout.strip().split(",") for client in two]
        self.assertEqual([len(devices) for devices in seen], [2, 2])
        self.assertEqual(sorted(seen[0] + seen[1]), ["0", "1", "2", "3"])  # no device twice

    def test_requeue(self):
        job, output = self.submit(LINGER, "-N", "3")
        self.await_life(job, output, 0, 20)
        self.rack.head("scontrol", "requeue", str(job))
        self.await_life(job, output, 1, 30)

    def test_crash_requeues_on_other_nodes(self):
        job, output = self.submit(LINGER, "-N", "2")
        self.await_life(job, output, 0, 20)
        self.assertEqual(self.rack.job(job)["NodeList"], "node[1-2]")
        self.rack.crash("node2")
        self.await_life(job, output, 1, 60)
        self.assertEqual(self.rack.job(job)["NodeList"], "node[1,3]")

    def test_jobs_survive_daemon_restarts(self):
        job, output = self.submit(LINGER, "-N", "3")
        self.await_life(job, output, 0, 20)
        time.sleep(3)  # Slurm holds a job that slurmctld loses in its first seconds
        self.rack.slurmctld("restart")
        self.rack.slurmctld("kill")
        self.rack.slurmctld("start")
        self.rack.slurmd("node1", "kill")
        self.rack.slurmd("node1", "start")
        self.assertEqual(self.rack.job(job)["JobState"], "RUNNING")
        self.rack.head("scancel", str(job))
        self.rack.wait_job(job, "CANCELLED", 20)
        self.assertNotIn("life 1", output())

    def test_preemption(self):
        step = self.rack.shared / "linger.sh"
        step.write_text(LINGER)
        # Only job steps get the signal, not the batch script.
        job, output = self.submit(f"#!/bin/bash\nexec srun -n 1 bash {step}\n", "-N", "3", "--exclusive", "-p", "low")
        self.await_life(job, output, 0, 20)
        begin = time.monotonic()
        out = self.rack.head("srun", "-N", "3", "-p", "high", "hostname", timeout=60)
        self.assertLess(time.monotonic() - begin, 19)  # the job ended by itself within its grace time
        self.assertEqual(sorted(out.split()), self.rack.layout.nodes)
        self.assertIn("TERM", output())

    def test_time_limit_of_partition(self):
        job = self.rack.sbatch(LINGER, "-p", "short", "-t", "10", "-o", "/dev/null")
        wait_for(lambda: self.rack.job(job)["Reason"] == "PartitionTimeLimit", 10, "Slurm to say why the job waits")


if __name__ == "__main__":
    unittest.main()
