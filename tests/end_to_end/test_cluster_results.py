"""Tests results on clusters: runs that take over from others, shards of one sweep, and hosts with disks of their own."""

import json
import os
import pathlib
import signal
import shutil
import subprocess
import tempfile
import time
import unittest

from harness import BAD_INPUT, CANNOT_RUN, DONE, ENVIRONMENT, FAILED, MAP, MPIRUN, PATIENCE, STOPPED, VOLTPILE, Case

# A hundred parts of one thread's work: long enough to be interrupted.
PART = 100  # points
LONG = ("--set", f"run.range_points={PART}")
QUICK = ("--set", "integrate.steps=2000", *LONG)


def batch(job, restart_count):
    return {"SLURM_JOB_ID": str(job), "SLURM_RESTART_COUNT": str(restart_count)}


class ClusterCase(Case):
    """All jobs but the quick ones compute one map; `alone` is its result on one rank."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.alone = pathlib.Path(reference.name) / "alone.h5"

    def lives(self, result):
        path = self.folder / f"{result}.parts" / "lives.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def wait_for_lives(self, result, count, timeout=30):
        deadline = time.monotonic() + timeout * PATIENCE
        while time.monotonic() < deadline:
            if len(self.lives(result)) >= count:
                return
            time.sleep(0.01)
        self.fail(f"{result} has not had {count} lives within {timeout} s")

    def kept(self, parts):
        """Returns the files of a part folder, without those that each life replaces."""
        return {each.name: each.read_bytes() for each in parts.iterdir() if each.is_file() and each.name != "lock"}

    def resume_and_wait(self, process, pids=()):
        for pid in pids or (process.pid,):
            os.kill(pid, signal.SIGCONT)
        return self.finish(process, expect=None, timeout=60)


reference = tempfile.TemporaryDirectory(prefix="voltpile-reference-")


def setUpModule():
    job = pathlib.Path(reference.name) / "map.toml"
    job.write_text(MAP)
    subprocess.run([VOLTPILE, "run", job, "--output", job.with_name("alone.h5"), "--set", "run.threads=0"], check=True,
                   env=ENVIRONMENT, stdout=subprocess.DEVNULL)


def tearDownModule():
    reference.cleanup()


class TakingOver(ClusterCase):
    def test_a_returning_run_changes_nothing(self):
        arguments = ("run", self.job, "--output", "a.h5", *LONG)
        for ranks in (None, 2):
            with self.subTest(ranks=ranks):
                first = self.start(*arguments, ranks=ranks)
                self.wait_for_parts(self.folder / "a.h5", 5)
                pids = [first.pid] if ranks is None else children(first.pid)
                for pid in pids:
                    os.kill(pid, signal.SIGSTOP)
                _, err = self.voltpile(*arguments, expect=CANNOT_RUN)
                self.assertIn(f"another run is writing a.h5 (pid {pids[0]} on ", err)
                self.assertIn("--take-over", err)
                out, _ = self.voltpile(*arguments, "--take-over", "--set", "run.time_limit_s=0.1", expect=STOPPED)
                self.assertIn("resuming: ", out)
                before = self.kept(self.folder / "a.h5.parts")
                _, err = self.resume_and_wait(first, pids)
                self.assertIn("another run has taken over", err)
                self.assertIn("what it had committed is kept", err)
                self.assertEqual(err.count("taken over"), 1, err)
                self.assertEqual(first.returncode, FAILED)
                self.assertEqual(self.kept(self.folder / "a.h5.parts"), before)
                self.voltpile(*arguments, "--set", "run.threads=0")
                self.assert_same_result(self.alone, "a.h5")
                self.assertFalse((self.folder / "a.h5.parts").exists())
                (self.folder / "a.h5").unlink()

    def test_a_restarted_batch_job_takes_over(self):
        arguments = ("run", self.job, "--output", "a.h5", *LONG)
        first = self.start(*arguments, environment=batch(77, 0))
        self.wait_for_parts(self.folder / "a.h5", 5)
        first.send_signal(signal.SIGSTOP)
        _, err = self.voltpile(*arguments, expect=CANNOT_RUN, environment=batch(78, 1))
        self.assertIn(f"(pid {first.pid} on {os.uname().nodename}, job 77)", err)
        out, _ = self.voltpile(*arguments, "--set", "run.threads=0", environment=batch(77, 1))
        self.assertIn("resuming: ", out)
        _, err = self.resume_and_wait(first)
        self.assertEqual(first.returncode, FAILED)
        self.assertIn("another run has taken over a.h5", err.replace(str(self.folder) + "/", ""))
        import h5py

        with h5py.File(self.folder / "a.h5") as file:
            self.assertEqual(file.attrs["lives"], 2)
            self.assertEqual(file.attrs["batchJob"], "slurm 77")
            self.assertEqual(file.attrs["restartCount"], 1)
        out, _ = self.voltpile("show", "a.h5")
        self.assertRegex(out, r"lives +2\n")
        self.assertRegex(out, r"batch job +slurm 77, started again once\n")

    def test_a_job_without_progress_stops(self):
        # The kill comes before the first range is done.
        arguments = ("run", self.job, "--output", "a.h5", "--set", "integrate.steps=100000000", "--set",
                     "run.range_points=10000")
        for life in range(3):
            process = self.start(*arguments, environment=batch(79, life))
            self.wait_for_lives("a.h5", life + 1)
            process.kill()
            self.finish(process, expect=None)
        before = self.kept(self.folder / "a.h5.parts")
        _, err = self.voltpile(*arguments, expect=FAILED, environment=batch(79, 3))
        host = os.uname().nodename
        self.assertIn(f"job 79 has made no progress on a.h5 in its last 3 lives (on {host}, {host}, {host})", err)
        self.assertEqual(self.kept(self.folder / "a.h5.parts"), before)
        process = self.start(*arguments, environment=batch(80, 0))
        self.wait_for_lives("a.h5", 4)
        process.kill()
        self.finish(process, expect=None)


def children(pid):
    """Returns the pids of the ranks that this mpirun has started, by rank."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]) != pid:
                continue
            environment = dict(word.split(b"=", 1) for word in (entry / "environ").read_bytes().split(b"\0") if word)
            found[int(environment[b"OMPI_COMM_WORLD_RANK"])] = int(entry.name)
        except (OSError, KeyError, ValueError, IndexError):
            continue
    return [found[rank] for rank in sorted(found)]


class Shards(ClusterCase):
    def test_four_shards_at_once(self):
        runs = [self.start("run", self.job, "--output", "a.h5", "--set", "run.range_points=100", "--shard", f"{i}/4",
                           ranks=2 if i == 1 else None) for i in range(4)]
        outs = [self.finish(run)[0] for run in runs]
        self.assertEqual(sum("result: a.h5" in out for out in outs), 1, outs)
        for i, out in enumerate(outs):
            self.assertIn(f"map: shard {i}/4 with 3,000 points", out)
            if "result: " not in out:
                self.assertRegex(out, rf"shard {i}/4 is done \(25 % of the sweep\); (the last|another) one")
        self.assert_same_result(self.alone, "a.h5")
        self.assertFalse((self.folder / "a.h5.parts").exists())
        out, _ = self.voltpile("run", self.job, "--output", "a.h5", "--shard", "2/4")
        self.assertIn("complete already", out)

    def test_shards_resume_after_stops_and_kills(self):
        arguments = ("run", self.job, "--output", "a.h5", *LONG)
        out, _ = self.voltpile(*arguments, "--shard", "1/2", "--set", "run.time_limit_s=0.2", expect=STOPPED)
        self.assertIn("of 6,000 points of shard 1/2 are done", out)
        killed = self.start(*arguments, "--shard", "0/2")
        self.wait_for_parts(self.folder / "a.h5", 5 + len(self.parts(self.folder / "a.h5")))
        _, err = self.voltpile(*arguments, expect=CANNOT_RUN)
        self.assertIn("another run is writing a.h5 (shard 0/2, pid ", err)
        killed.kill()
        self.finish(killed, expect=None)
        out, _ = self.voltpile(*arguments, "--shard", "0/2", "--set", "run.threads=0")
        self.assertIn("resuming: ", out)
        self.assertIn("the last one to finish writes the result", out)
        out, _ = self.voltpile("show", "a.h5")
        self.assertIn("unfinished", out)
        self.voltpile(*arguments, "--set", "run.threads=0")  # a run of the whole sweep resumes what the shards have left
        self.assert_same_result(self.alone, "a.h5")

    def test_rejects_wrong_arguments(self):
        for shard in ("4/4", "1", "-1/4", "0/0"):
            _, err = self.voltpile("run", self.job, f"--shard={shard}", expect=BAD_INPUT)
            self.assertIn(f"--shard {shard}", err)
        self.voltpile("run", self.job, "--shard", "0/2", "--fresh", expect=BAD_INPUT)
        self.assertFalse((self.folder / "results").exists())


class Files(ClusterCase):
    def test_follows_a_symbolic_link(self):
        (self.folder / "disk").mkdir()
        (self.folder / "a.h5").symlink_to("disk/real.h5")
        arguments = ("run", self.job, "--output", "a.h5", *QUICK)
        self.voltpile(*arguments, "--set", "run.time_limit_s=0.01", expect=STOPPED)
        self.assertTrue((self.folder / "disk/real.h5.parts").is_dir())
        out, _ = self.voltpile("show", "a.h5")
        self.assertIn("unfinished", out)
        self.voltpile(*arguments)
        self.assertTrue((self.folder / "a.h5").is_symlink())
        self.assertEqual(sorted(p.name for p in (self.folder / "disk").iterdir()), ["real.h5"])

    def test_reports_a_damaged_result(self):
        self.voltpile("run", self.job, "--output", "a.h5", *QUICK)
        os.truncate(self.folder / "a.h5", 3000)
        for command in (("run", self.job, "--output", "a.h5", *QUICK), ("show", "a.h5")):
            _, err = self.voltpile(*command, expect=BAD_INPUT)
            self.assertIn("a.h5 is a damaged HDF5 file", err)

    def test_resumes_a_part_folder_without_its_layout(self):
        arguments = ("run", self.job, "--output", "a.h5", *QUICK)
        self.voltpile(*arguments, "--set", "run.time_limit_s=0.05", expect=STOPPED)
        (self.folder / "a.h5.parts" / "layout.h5").unlink()
        out, _ = self.voltpile(*arguments)
        self.assertIn("resuming: ", out)
        self.assertFalse((self.folder / "a.h5.parts").exists())

    def test_reports_a_full_disk_once(self):
        # At the start, where the layout does not fit, and when all ranks at once cannot commit their parts of 24 kB.
        for limit, what in ((4096, "layout.h5"), (20_000, "part-")):
            with self.subTest(what=what):
                _, err = self.voltpile("run", self.job, "--output", "a.h5", "--set", "run.range_points=2000", "--set",
                                       "integrate.steps=20", expect=FAILED, file_limit=limit, ranks=4)
                self.assertEqual(err.count("cannot write"), 1, err)
                self.assertIn(f"cannot write a.h5.parts/{what}", err.replace(str(self.folder) + "/", ""))


def can_mount():
    """Returns whether this process may give its children mounts of their own."""
    return subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode == 0


@unittest.skipUnless(can_mount(), "needs root, for ranks with mounts of their own")
class NodeLocalDisks(ClusterCase):
    """Ranks with a /scratch of their own, as on hosts without a shared file system."""

    RANKS = 3

    def setUp(self):
        super().setUp()
        self.scratch = self.folder / "scratch"
        self.scratch.mkdir()
        for rank in range(1, self.RANKS):
            self.disk(rank).mkdir()
        # Rank 0 uses the folder itself, the others mount their own disk over it. $READ_ONLY: a rank that must not write.
        # $SHARED: all ranks use the folder itself, on hosts of different names.
        self.wrapper = self.write("rank.sh", f"""#!/bin/sh
rank=$OMPI_COMM_WORLD_RANK
if [ "$rank" = 0 ]; then exec {VOLTPILE} "$@"; fi
if [ -n "$SHARED" ]; then exec unshare --uts sh -c 'hostname host'$rank' && exec {VOLTPILE} "$@"' sh "$@"; fi
exec unshare --mount sh -c '
    mount --bind {self.folder}/disk'$rank' {self.scratch} || exit 90
    if [ "$READ_ONLY" = '$rank' ]; then mount -o remount,bind,ro {self.scratch} || exit 91; fi
    exec {VOLTPILE} "$@"' sh "$@"
""")
        self.wrapper.chmod(0o755)

    def disk(self, rank):
        return self.scratch if rank == 0 else self.folder / f"disk{rank}"

    def parts_on(self, rank):
        return sorted((self.disk(rank) / "a.h5.parts").glob("part-*.h5"))

    def run_apart(self, *arguments, expect=DONE, ranks=RANKS, environment={}):
        command = [MPIRUN, "-np", str(ranks), str(self.wrapper), "run", str(self.job), "--output",
                   str(self.scratch / "a.h5"), *LONG, *arguments]
        process = subprocess.Popen(command, cwd=self.folder, env={**ENVIRONMENT, **environment},
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return self.finish(process, expect)

    def assert_nothing_left(self):
        for rank in range(self.RANKS):
            self.assertEqual([p.name for p in self.disk(rank).iterdir() if p.name != "a.h5"], [])

    def test_parts_are_gathered(self):
        out, _ = self.run_apart()
        host = os.uname().nodename
        self.assertIn(f"results: {host} (rank 1), {host} (rank 2) do not see {self.scratch}/a.h5.parts: parts stay "
                      "on their own disks and are gathered at the end", out)
        self.assert_same_result(self.alone, self.scratch / "a.h5")
        self.assert_nothing_left()

    def test_stopped_and_resumed_with_some_of_the_hosts(self):
        self.run_apart("--set", "run.time_limit_s=0.2", expect=STOPPED)
        kept = [len(self.parts_on(rank)) for rank in range(self.RANKS)]
        self.assertTrue(all(kept), kept)
        out, _ = self.run_apart("--set", "run.time_limit_s=0.1", expect=STOPPED, ranks=2)  # without rank 2's disk
        self.assertIn(f"resuming: {PART * (kept[0] + kept[1]):,} of 12,000", out)
        self.assertEqual(len(self.parts_on(2)), kept[2])
        # Now rank 2's parts are found again. Some of their points may have been computed elsewhere since.
        out, _ = self.run_apart()
        self.assertIn("resuming: ", out)
        self.assert_same_result(self.alone, self.scratch / "a.h5")
        self.assert_nothing_left()

    def test_shards(self):
        out, _ = self.run_apart("--shard", "0/2")
        self.assertIn("the last one to finish writes the result", out)
        self.assertEqual(self.parts_on(1), [])
        ends = [[int(end) for end in part.stem.split("-")[1:]] for part in self.parts_on(0)]
        self.assertEqual(sum(end - begin for begin, end in ends), 6000)
        out, _ = self.run_apart("--shard", "1/2")
        self.assert_same_result(self.alone, self.scratch / "a.h5")
        self.assert_nothing_left()

    def test_names_a_host_that_can_neither_see_nor_write(self):
        _, err = self.run_apart(expect=CANNOT_RUN, environment={"READ_ONLY": "2"})
        self.assertIn(f"{os.uname().nodename} does not see {self.scratch}/a.h5.parts", err)
        self.assertEqual(err.count("Read-only file system"), 1, err)
        self.assertEqual(self.parts_on(0), [])

    def test_removes_parts_that_a_killed_run_left_on_other_hosts(self):
        self.run_apart("--set", "run.time_limit_s=0.3", expect=STOPPED)
        for rank in (1, 2):
            self.assertGreater(len(self.parts_on(rank)), 0)
        shutil.copy(self.alone, self.scratch / "a.h5")  # as if the run had been killed just after giving the result its name
        out, err = self.run_apart()
        self.assertIn("complete already", out)
        self.assertEqual(err, "")
        self.assertEqual((self.scratch / "a.h5").read_bytes(), self.alone.read_bytes())
        self.assert_nothing_left()

    def test_only_rank_0_removes_parts_on_a_shared_folder(self):
        self.run_apart("--set", "run.time_limit_s=0.3", expect=STOPPED, ranks=1)
        notes = self.scratch / "a.h5.parts" / "notes.txt"
        notes.write_text("not voltpile's")  # keeps the folder, so each rank that tries to remove it says so
        shutil.copy(self.alone, self.scratch / "a.h5")
        out, err = self.run_apart(environment={"SHARED": "yes"})
        self.assertIn("complete already", out)
        self.assertEqual(err.count("holds files that are not voltpile's"), 1, err)
        self.assertEqual(err.count("\n"), 1, err)
        self.assertEqual(list(notes.parent.iterdir()), [notes])


if __name__ == "__main__":
    unittest.main()
