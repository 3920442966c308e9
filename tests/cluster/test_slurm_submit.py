"""voltpile submit, voltpile status and slurm/run.sbatch on three nodes with Slurm."""

import pathlib
import re
import shutil
import subprocess
import time
import unittest

from harness import wait_for
from voltpile_case import SOURCE, VOLTPILE, VoltpileCase, fields, map_job

RUN_SBATCH = SOURCE / "slurm/run.sbatch"

# Replaces voltpile to test how the script handles exit codes and what it passes to the ranks.
STAND_IN = """#!/bin/bash
[ "$SLURM_PROCID" = 0 ] && echo "rank 0 of $SLURM_NTASKS: $* | GPUs $CUDA_VISIBLE_DEVICES | $FROM_ENV"
codes=({codes})
exit "${{codes[${{SLURM_RESTART_COUNT:-0}}]}}"
"""


class SlurmCase(VoltpileCase):
    with_slurm = True

    def setUp(self):
        self.folder = self.rack.shared / self._testMethodName
        self.folder.mkdir()

    def voltpile(self, *arguments, expect=0, folder=None):
        return self.rack.run("head", [VOLTPILE, *arguments], cwd=folder or self.folder, expect=expect)

    def without_slurm(self, *arguments, expect=0):
        return self.rack.run("head", ["env", "PATH=/nonexistent", VOLTPILE, *arguments], cwd=self.folder, expect=expect)

    def submit(self, job, *options):
        """Submits a job file. Returns the job id and the log."""
        out = self.voltpile("submit", job, "--output", self.folder / "map.h5", *options).stdout
        job_id = re.search(r"^job +(\d+) ", out, re.M).group(1)
        return job_id, pathlib.Path(re.search(r"^log +(.*)", out, re.M).group(1))

    def ended(self, job_id, state="COMPLETED", timeout=60):
        job = self.rack.wait_job(job_id, "COMPLETED FAILED CANCELLED TIMEOUT", timeout)
        log = "".join(path.read_text() for path in self.folder.glob("*.log"))
        self.assertEqual(job["JobState"], state, log)
        return job, log

    def queue(self):
        return self.rack.head("squeue", "-h", "-t", "all", "-o", "%A %j").split("\n")


class Submit(SlurmCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.job = cls.rack.shared / "map.toml"
        cls.job.write_text(map_job())

    def test_dry_run_passes_sbatch_test_only(self):
        odd = self.folder / "it's 100% \"odd\" #1"
        odd.mkdir()
        before = self.queue()
        for name, options in {
            "plain": [],
            "shape": ["--nodes", "3", "--tasks-per-node", "2"],
            "array": ["--array", "4", "--nodes", "1"],
            "gpus": ["--set", "run.device=gpu", "--nodes", "2"],
            "time": ["--partition", "short", "--time", "1:30"],
            "all": ["--launcher", "mpirun", "--env", SOURCE / "slurm/env/openmpi_tcp.sh", "--set", "run.threads=2",
                    "--", "--exclusive", "--nice=5"],
            "odd": ["--output", odd / "a b.h5", "--set", "sweep.x.count=3"],
        }.items():
            with self.subTest(name):
                output = [] if "--output" in options else ["--output", self.folder / "map.h5"]
                dry = self.voltpile("submit", self.job, "--dry-run", *output, *options)
                script = self.folder / f"{name}.sh"
                script.write_text(dry.stdout)
                self.assertTrue(dry.stdout.startswith("#!/bin/bash\n#SBATCH "), dry.stdout)
                self.rack.run("head", ["sbatch", "--test-only"], stdin=dry.stdout, expect=0)
                subprocess.run(["bash", "-n", script], check=True)
                if shutil.which("shellcheck"):
                    subprocess.run(["shellcheck", script], check=True)
        self.assertEqual(self.queue(), before)

    def test_invalid_requests_never_reach_the_queue(self):
        (self.folder / "bad.toml").write_text(map_job().replace("steps =", "stpes ="))
        (self.folder / "other.h5").write_text("not a result")
        before = self.queue()
        for code, words, arguments in (
            (2, ["bad.toml:", "steps"], ["bad.toml"]),
            (2, ["--partition=shrot", "did you mean short?", "main, short, low, high"],
             [self.job, "--partition", "shrot"]),
            (2, ["--time=soon"], [self.job, "--time", "soon"]),
            (2, ["no folder", "nowhere"], [self.job, "--output", "nowhere/map.h5"]),
            (2, ["other.h5", "not written by voltpile"], [self.job, "--output", "other.h5"]),
            (2, ["backslash"], [self.job, "--output", "back\\slash.h5"]),
            (2, ["no.sh"], [self.job, "--env", "no.sh"]),
            (2, ["run.device"], [self.job, "--gpus-per-node", "2"]),
            (2, ["--array=4000", "3000 points"], [self.job, "--array", "4000"]),
            (2, ["--nodes"], [self.job, "--nodes", "0"]),
            (3, ["--nodes=4", "main has 3 nodes"], [self.job, "--nodes", "4"]),
            (3, ["5 tasks", "at most 4"], [self.job, "--tasks-per-node", "5"]),
            (3, ["00:02:00"], [self.job, "--partition", "short", "--time", "3"]),
            (3, ["too short", "40 s"], [self.job, "--time", "1", "--set", "run.range_seconds=40"]),
            (3, ["--gpus-per-node=5"], [self.job, "--set", "run.device=gpu", "--gpus-per-node", "5"]),
            (3, ["--tasks-per-node=5"], [self.job, "--set", "run.device=gpu", "--tasks-per-node", "5"]),
            (3, ["--array=1001", "1000"], [self.job, "--array", "1001"]),
            (3, ["refused by Slurm", "Invalid feature"], [self.job, "--", "--constraint=nothing_has_this"]),
        ):
            with self.subTest(words=words):
                result = self.voltpile("submit", *arguments, expect=code)
                for word in words:
                    self.assertEqual(result.stderr.count(word), 1, result.stderr)
                self.assertEqual(result.stdout, "")
        self.assertEqual(self.queue(), before)

    def test_machine_without_slurm(self):
        for arguments, program in ((["submit", self.job], "sbatch"), (["submit", self.job, "--dry-run"], "sbatch"),
                                   (["status"], "squeue"), (["status", "7"], "squeue")):
            result = self.without_slurm(*arguments, expect=3)
            self.assertIn(f"{program} is not installed here", result.stderr)
            self.assertIn("docs/cluster.md", result.stderr)

    def test_runs_to_a_complete_result(self):
        expected = self.alone(self.job, self.folder / "alone.h5")
        for shape in (["--nodes", "3", "--tasks-per-node", "2"], ["--nodes", "2", "--launcher", "mpirun"]):
            with self.subTest(shape=shape):
                (self.folder / "map.h5").unlink(missing_ok=True)
                job_id, log = self.submit(self.job, *shape)
                self.ended(job_id)
                self.assertEqual(fields(self.folder / "map.h5"), expected)
                self.assertTrue(log.read_text().endswith(f"job {job_id}, life 1: done\n"), log.read_text())
        self.assertIn("complete already", self.voltpile("submit", self.job, "--output", self.folder / "map.h5").stdout)

    def test_odd_names(self):
        folder = self.folder / "it's 100% \"odd\" #1 &; $HOME"
        folder.mkdir()
        job = folder / "my job.toml"
        job.write_text(map_job(x=10, y=8, steps=100))
        out = self.voltpile("submit", job.name, "--set", "output.fields=['steps_together']", folder=folder).stdout
        job_id = re.search(r"^job +(\d+)", out, re.M).group(1)
        log = folder / f"results/my job-{job_id}.log"
        job = self.rack.wait_job(job_id, "COMPLETED FAILED", 30)
        self.assertEqual(job["JobState"], "COMPLETED", log.read_text() if log.exists() else f"no {log}: {job}")
        result = folder / "results/my job.h5"
        self.assertNotIn("energy_error", fields(result))
        self.assertIn("done", log.read_text())
        self.assertIn(str(result), self.voltpile("status", job_id).stdout)

    def test_array_of_four(self):
        expected = self.alone(self.job, self.folder / "alone.h5")
        job_id, _ = self.submit(self.job, "--array", "4", "--nodes", "1", "--tasks-per-node", "1")
        for element in range(4):
            self.ended(f"{job_id}_{element}")
        self.assertEqual(fields(self.folder / "map.h5"), expected)
        table = self.voltpile("status").stdout
        for element in range(4):
            self.assertRegex(table, rf"(?m)^{job_id}_{element} +map +COMPLETED .* 100\.0 % +3,000 of 3,000")


class Lives(SlurmCase):
    """Jobs that a test interrupts. It stops their ranks after the start, so that no machine is fast enough to finish."""

    SHAPE = ["--nodes", "2", "--tasks-per-node", "1"]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.job = cls.rack.shared / "long.toml"
        cls.job.write_text(map_job(x=80, y=60, steps=40000, range_points=40))
        cls.rack.run("node1", [VOLTPILE, "run", cls.job, "--set", "run.threads=0", "--output", "expected.h5"], expect=0)

    def start(self, *options, parts=5):
        job_id, _ = self.submit(self.job, *self.SHAPE, *options)
        self.wait_for_parts(self.folder / "map.h5", parts)
        # Not with scancel: Slurm marks a job as stopped when its nodes have answered, possibly after its end.
        for node in range(1, self.nodes + 1):
            self.rack.run(f"node{node}", ["pkill", "-STOP", "-x", "voltpile"])
        return job_id

    def let_go(self, job_id):
        self.rack.head("scancel", "--signal=CONT", job_id)

    def complete_after(self, job_id, restarts, timeout=60):
        job, log = self.ended(job_id, timeout=timeout)
        self.assertEqual(int(job["Restarts"]), restarts, log)
        self.assertEqual(fields(self.folder / "map.h5"), fields(self.rack.shared / "expected.h5"))
        self.assertIn("resuming: ", log)
        return log

    def test_signal_before_the_limit(self):
        job_id = self.start()
        self.rack.head("scancel", "--batch", "--signal=USR1", job_id)  # as Slurm does for --signal=B:USR1@N
        self.let_go(job_id)
        log = self.complete_after(job_id, 1)
        self.assertIn("goes back into the queue (stopped)", log)
        self.assertNotIn("second signal", log.replace("a second signal stops at once", ""))

    def test_preempted(self):
        job_id = self.start("--partition", "low")
        nodes = self.rack.job(job_id)["NodeList"]
        other = self.rack.sbatch("#!/bin/sh\nsleep 1\n", "-phigh", f"-w{nodes}", "-N2", "--exclusive", "-o/dev/null")
        self.rack.wait_job(other, "COMPLETED", 40)
        self.complete_after(job_id, 1)

    def test_cancelled_is_not_requeued(self):
        job_id = self.start()
        self.rack.head("scancel", job_id)  # continues the ranks, as preemption does
        _, log = self.ended(job_id, "CANCELLED")
        time.sleep(1)
        self.assertEqual(self.rack.job(job_id)["Restarts"], "0")
        self.assertEqual(self.rack.job(job_id)["JobState"], "CANCELLED", log)
        # The next job resumes its results.
        _, log = self.ended(self.submit(self.job, *self.SHAPE)[0])
        self.assertIn("resuming: ", log)
        self.assertEqual(fields(self.folder / "map.h5"), fields(self.rack.shared / "expected.h5"))

    def test_real_time_limit(self):
        # Slurm checks for pending signals every 30 s.
        job_id = self.start("--time", "1", "--", "--signal=B:USR1@55")
        log = self.folder / f"map-{job_id}.log"
        wait_for(lambda: "time limit ahead: asks the ranks to stop" in log.read_text(), 40, "Slurm's signal")
        self.let_go(job_id)
        self.complete_after(job_id, 1)

    def test_status(self):
        job_id = self.start()
        self.rack.head("scancel", "--signal=STOP", job_id)
        row = wait_for(lambda: re.search(rf"(?m)^{job_id} +long +STOPPED .* 0 +(\d+\.\d) % +([\d,]+) of 4,800",
                                         self.voltpile("status").stdout), 10, "progress in the table")
        self.assertGreater(float(row[1]), 0)
        self.assertLess(float(row[1]), 100)
        detail = self.voltpile("status", job_id).stdout
        self.assertRegex(detail, r"state +STOPPED: on node\[\d-\d\] \(main\)")
        self.assertRegex(detail, r"progress +\[#*\.*\] +\d+\.\d %: [\d,]+ of 4,800 points; at [\d.e+]+ points/s ")
        self.assertNotIn("\x1b", detail)
        waiting, _ = self.submit(self.job, "--dependency", f"afterok:{job_id}")
        self.assertRegex(self.voltpile("status").stdout, rf"(?m)^{waiting} +long +PENDING +Dependency ")
        self.rack.head("scancel", waiting)
        self.assertIn(f"job        {job_id} STOPPED", self.voltpile("status", "map.h5").stdout)
        self.assertRegex(self.without_slurm("status", "map.h5").stdout, r"progress +\[#*\.*\] ")
        self.let_go(job_id)
        self.ended(job_id)
        self.assertIn("complete: 4,800 points", self.voltpile("status", job_id).stdout)
        self.assertIn("complete: 4,800 points", self.voltpile("status", "map.h5").stdout)
        self.assertIn("knows no job 4711", self.voltpile("status", "4711", expect=2).stderr)
        self.assertIn("no such result", self.voltpile("status", "other.h5", expect=2).stderr)


class Script(SlurmCase):
    """slurm/run.sbatch by itself: its launchers and its handling of exit codes."""

    def stand_in(self, codes):
        path = self.folder / f"stand_in_{codes.replace(' ', '_')}.sh"
        path.write_text(STAND_IN.format(codes=codes))
        path.chmod(0o755)
        return path

    def sbatch(self, program, options, *arguments, env=""):
        return self.rack.head("sbatch", "--parsable", f"--export=ALL,VOLTPILE={program}{env}", *options, RUN_SBATCH,
                              *arguments).strip()

    def run_script(self, program, *arguments, options=(), env=""):
        shape = ["-N2", "--ntasks-per-node=2", f"--output={self.folder}/job.log"]
        return self.sbatch(program, [*shape, *options], *arguments, env=env)

    def test_exit_codes_and_arguments(self):
        expected = {
            "0": ("COMPLETED", 0, "life 1: done"),
            "2": ("FAILED", 0, "refused (exit code 2): never requeued"),
            "3": ("FAILED", 0, "refused (exit code 3): never requeued"),
            "4": ("FAILED", 0, "failed (exit code 4): not requeued"),
            "127": ("FAILED", 0, "could not be started"),
            "5 0": ("COMPLETED", 1, "goes back into the queue (stopped)"),
            "77 77 77": ("FAILED", 2, "failed (launcher's exit code 77) again"),
        }
        # Concurrently, because a requeued job waits for seconds.
        jobs = {codes: self.sbatch(self.stand_in(codes), ["-N1", "-n1", f"--output={self.folder}/{codes}.log"],
                                   "x.toml") for codes in expected}
        element = self.start_array_whose_element_stops()
        given = self.start_with_everything_given()
        for codes, (state, restarts, words) in expected.items():
            with self.subTest(codes=codes):
                job, _ = self.ended(jobs[codes], state)
                log = (self.folder / f"{codes}.log").read_text()
                self.assertEqual(int(job["Restarts"]), restarts, log)
                self.assertIn(words, log)
        self.check_only_that_element_is_requeued(element)
        self.check_what_the_ranks_were_given(given)

    def start_with_everything_given(self):
        env_file = self.folder / "env.sh"
        env_file.write_text("export FROM_ENV=sourced\n")
        return self.run_script(self.stand_in("5 0"), "x.toml", "--output", "y.h5", "--fresh",
                               options=["--gpus-per-node=4", "--cpus-per-task=2"], env=f",VOLTPILE_ENV={env_file}")

    def check_what_the_ranks_were_given(self, job_id):
        self.ended(job_id)
        log = (self.folder / "job.log").read_text()
        # Each rank sees all GPUs of the node; a requeued job drops --fresh.
        self.assertIn("rank 0 of 4: run x.toml --output y.h5 --fresh | GPUs 0,1,2,3 | sourced", log)
        self.assertIn("rank 0 of 4: run x.toml --output y.h5 | GPUs 0,1,2,3 | sourced", log)

    def start_array_whose_element_stops(self):
        program = self.folder / "element.sh"
        program.write_text('#!/bin/bash\n[ "$SLURM_ARRAY_TASK_ID$SLURM_RESTART_COUNT" = 1 ] && exit 5\nexit 0\n')
        program.chmod(0o755)
        return self.sbatch(program, ["-N1", "-n1", "--array=0-1", f"--output={self.folder}/%a.log"], "x.toml")

    def check_only_that_element_is_requeued(self, job_id):
        for element, restarts in ((0, "0"), (1, "1")):
            job = self.rack.wait_job(f"{job_id}_{element}", "COMPLETED", 40)
            self.assertEqual(job["Restarts"], restarts)

    def test_shards_of_an_array(self):
        program = self.stand_in("0")
        job_id = self.sbatch(program, ["-N1", "-n1", "--array=2-6:2", f"--output={self.folder}/%a.log"], "x.toml")
        for index, element in enumerate((2, 4, 6)):
            self.rack.wait_job(f"{job_id}_{element}", "COMPLETED", 30)
            self.assertIn(f"run x.toml --shard {index}/3 ", (self.folder / f"{element}.log").read_text())

    def test_script_rejects_invalid_environments(self):
        for words, code, options in (("no program", "3:0", {"program": "/nonexistent/voltpile"}),
                                     ("cannot read", "2:0", {"env": ",VOLTPILE_ENV=/nonexistent.sh"}),
                                     ("must be srun or mpirun", "2:0", {"env": ",VOLTPILE_LAUNCHER=rsh"})):
            with self.subTest(words=words):
                (self.folder / "job.log").unlink(missing_ok=True)
                program = options.pop("program", self.stand_in("0"))
                job, log = self.ended(self.run_script(program, "x.toml", **options), "FAILED")
                self.assertEqual(job["ExitCode"], code)
                self.assertIn(words, log)

    def test_environment_examples(self):
        for path in sorted((SOURCE / "slurm/env").glob("*.sh")):
            subprocess.run(["bash", "-n", path], check=True)
            if shutil.which("shellcheck"):
                subprocess.run(["shellcheck", "--shell=bash", path], check=True)
        job = self.folder / "map.toml"
        job.write_text(map_job(x=10, y=8, steps=100))
        for name, launcher in (("openmpi_tcp", "srun"), ("openmpi_tcp", "mpirun"), ("ucx_tcp", "mpirun"),
                               ("single_node", "srun")):
            with self.subTest(name=name, launcher=launcher):
                result = self.folder / f"{name}-{launcher}.h5"
                (self.folder / "job.log").unlink(missing_ok=True)
                nodes = "-N1" if name == "single_node" else "-N2"
                job_id = self.run_script(VOLTPILE, job, "--output", result, options=[nodes],
                                         env=f",VOLTPILE_LAUNCHER={launcher},VOLTPILE_ENV={SOURCE}/slurm/env/{name}.sh")
                self.ended(job_id)
                fields(result)
                self.assertIn(str(result), self.voltpile("status", job_id).stdout)


if __name__ == "__main__":
    unittest.main()
