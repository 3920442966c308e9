"""The same bits for any number of ranks, size of ranges and history of restarts."""

import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

from harness import CANNOT_RUN, DONE, ENVIRONMENT, MAP, MPIRUN, PATIENCE, STOPPED, VOLTPILE, Case


def pids_of(job):
    """Processes of voltpile working on this job file."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words and words[0].endswith(b"voltpile") and str(job).encode() in words:
            found.append(int(entry.name))
    return found


class Ranks(Case):
    # Takes seconds even where processors are fast: long enough to be interrupted again and again.
    BIG = ("--set", "sweep.x.count=240", "--set", "sweep.y.count=160")
    ODD = ("--set", "sweep.x.count=61", "--set", "sweep.y.count=53")  # 3,233 points

    @classmethod
    def setUpClass(cls):
        """Computes once what several tests compare with."""
        super().setUpClass()
        folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="voltpile-test-")))
        job = folder / "map.toml"
        job.write_text(MAP)
        cls.alone, cls.odd, cls.whole = folder / "alone.h5", folder / "odd.h5", folder / "whole.h5"
        for result, options in ((cls.alone, ()), (cls.odd, cls.ODD), (cls.whole, (*cls.BIG, "--set", "run.threads=0"))):
            subprocess.run([VOLTPILE, "run", job, "--output", result, *options], env=ENVIRONMENT, check=True, capture_output=True)

    def test_rank_counts_and_range_sizes(self):
        for ranks, points in ((1, 0), (2, 0), (4, 0), (2, 7), (3, 500)):
            with self.subTest(ranks=ranks, points=points):
                name = f"r{ranks}-{points}.h5"
                self.voltpile("run", self.job, "--output", name, *self.ODD, "--set", f"run.range_points={points}", ranks=ranks)
                self.assert_same_result(self.odd, name)
                self.assertFalse((self.folder / (name + ".parts")).exists())

    def test_threads_do_not_matter(self):
        self.voltpile("run", self.job, "--output", "all.h5", *self.ODD, "--set", "run.threads=0")
        self.assert_same_result(self.odd, "all.h5")

    def test_survives_repeated_kills(self):
        arguments = ("run", self.job, "--output", "killed.h5", *self.BIG, "--set", "run.range_points=100")
        for ranks in (1, None, 2, 4):
            done = len(self.parts(self.folder / "killed.h5"))
            process = self.start(*arguments, ranks=ranks)
            self.wait_for_parts(self.folder / "killed.h5", done + 10)
            victim = pids_of(self.job)[-1]
            os.kill(victim, signal.SIGKILL)
            self.finish(process, expect=None, timeout=30)  # nobody is left hanging
            self.assertNotEqual(process.returncode, DONE)
            deadline = time.monotonic() + 10
            while pids_of(self.job) and time.monotonic() < deadline:
                time.sleep(0.05)
            self.assertEqual(pids_of(self.job), [])
        out, _ = self.voltpile(*arguments, ranks=3)
        self.assertIn("resuming: ", out)
        self.assert_same_result(self.whole, "killed.h5")

    def test_time_limit_stops_and_resumes(self):
        arguments = ("run", self.job, "--output", "limited.h5", "--set", "run.range_points=20")
        out, _ = self.voltpile(*arguments, "--set", "run.time_limit_s=0.2", ranks=2, expect=STOPPED)
        self.assertIn("run the same command again", out)
        self.assertGreater(len(self.parts(self.folder / "limited.h5")), 0)
        self.assertFalse((self.folder / "limited.h5").exists())
        out, _ = self.voltpile("show", "limited.h5")
        self.assertIn("unfinished", out)
        self.voltpile(*arguments)
        self.assert_same_result(self.alone, "limited.h5")

    def mpirun_forwards_usr1(self):
        """Not every mpirun does: some keep it to themselves."""
        process = subprocess.Popen([MPIRUN, "-np", "1", "sh", "-c", "trap 'exit 7' USR1; echo; sleep 3 & wait; exit 0"],
                                   env=ENVIRONMENT, stdout=subprocess.PIPE)
        process.stdout.readline()
        process.send_signal(signal.SIGUSR1)
        process.communicate(timeout=30 * PATIENCE)
        return process.returncode == 7

    def test_signals_stop_at_a_range_boundary(self):
        arguments = ("run", self.job, "--output", "stopped.h5", *self.BIG, "--set", "run.range_points=100")
        for name, ranks in (("SIGUSR1", 2), ("SIGUSR1", None), ("SIGTERM", None), ("SIGINT", None)):
            with self.subTest(signal=name, ranks=ranks):
                if ranks and not self.mpirun_forwards_usr1():
                    self.skipTest(f"{MPIRUN} does not forward SIGUSR1")
                done = len(self.parts(self.folder / "stopped.h5"))
                process = self.start(*arguments, ranks=ranks)
                self.wait_for_parts(self.folder / "stopped.h5", done + 2)
                process.send_signal(getattr(signal, name))
                out, err = self.finish(process, expect=STOPPED, timeout=20)
                self.assertIn("run the same command again", out)
                self.assertIn("stopping when the ranges under way are done", err)
        self.voltpile(*arguments, "--set", "run.threads=0")
        self.assert_same_result(self.whole, "stopped.h5")


class Finished(Case):
    def test_a_finished_job_says_so(self):
        self.voltpile("run", self.job, "--output", "a.h5", "--set", "integrate.steps=200", ranks=2)
        before = (self.folder / "a.h5").stat()
        out, _ = self.voltpile("run", self.job, "--output", "a.h5", "--set", "integrate.steps=200", ranks=2)
        self.assertIn("a.h5 is complete already", out)
        self.assertEqual((self.folder / "a.h5").stat().st_mtime_ns, before.st_mtime_ns)
        hidden = {"CUDA_VISIBLE_DEVICES": ""}  # also where the job could not be computed
        out, err = self.voltpile("run", self.job, "--output", "a.h5", "--set", "integrate.steps=200", "--set",
                                 "run.device=gpu", environment=hidden)
        self.assertIn("a.h5 is complete already", out)
        self.assertEqual(err, "")
        self.voltpile("run", self.job, "--output", "b.h5", "--set", "run.device=gpu", environment=hidden,
                      expect=CANNOT_RUN)
        self.assertEqual((self.folder / "a.h5").stat().st_mtime_ns, before.st_mtime_ns)
        self.voltpile("run", self.job, "--output", "a.h5", "--set", "integrate.steps=200", "--fresh")
        self.assertNotEqual((self.folder / "a.h5").stat().st_mtime_ns, before.st_mtime_ns)

    def test_fresh_that_is_stopped_keeps_the_old_result_and_resumes(self):
        self.voltpile("run", self.job, "--output", "a.h5", "--set", "system.G=9.7", "--set", "integrate.steps=100")
        old = (self.folder / "a.h5").read_bytes()
        arguments = ("run", self.job, "--output", "a.h5", "--set", "run.range_points=20")
        out, _ = self.voltpile(*arguments, "--set", "run.time_limit_s=0.2", "--fresh", expect=STOPPED)
        self.assertIn("without --fresh", out)
        self.assertEqual((self.folder / "a.h5").read_bytes(), old)
        parts = len(self.parts(self.folder / "a.h5"))
        out, _ = self.voltpile(*arguments, "--set", "run.time_limit_s=0.2", expect=STOPPED)
        self.assertIn("resuming: ", out)
        self.assertGreater(len(self.parts(self.folder / "a.h5")), parts)
        self.voltpile(*arguments)
        self.assertNotEqual((self.folder / "a.h5").read_bytes(), old)
        self.assertFalse((self.folder / "a.h5.parts").exists())
        out, _ = self.voltpile(*arguments)
        self.assertIn("complete already", out)

    def test_foreign_files_survive_in_the_parts_folder(self):
        arguments = ("run", self.job, "--output", "a.h5", "--set", "run.range_points=20")
        self.stop_with_parts(self.folder / "a.h5", 3, *arguments)
        parts = self.parts(self.folder / "a.h5")
        (parts[0].parent / "notes.txt").write_text("mine")
        for part, make in ((parts[0], os.mkfifo), (parts[1], os.mkdir), (parts[2], lambda p: os.symlink("nowhere", p))):
            part.unlink()
            make(part)
        _, err = self.voltpile(*arguments, timeout=60)
        self.assertEqual(err.count("not a regular file"), 3)
        self.assertEqual((parts[0].parent / "notes.txt").read_text(), "mine")

    def test_the_result_goes_to_results_by_default(self):
        self.voltpile("run", self.job, "--set", "integrate.steps=100")
        self.assertTrue((self.folder / "results/map.h5").is_file())

    def test_more_ranks_than_points(self):
        few = ("--set", "sweep.x.count=2", "--set", "sweep.y.count=1", "--set", "integrate.steps=100")
        _, err = self.voltpile("run", self.job, "--output", "few.h5", *few, ranks=4)
        self.assertIn("some ranks will have nothing to do", err)
        self.assertEqual(len(self.fields("few.h5")["steps_together"]), 2 * 4)

    def test_no_sweep_is_one_point(self):
        text = MAP[: MAP.index("[[sweep]]")] + MAP[MAP.index("[integrate]") :]
        self.voltpile("run", self.write("point.toml", text), "--output", "point.h5")
        self.assertEqual(len(self.fields("point.h5")["steps_together"]), 4)


if __name__ == "__main__":
    unittest.main()
