"""Kills jobs at random moments and at every write, at 1 to 4 ranks, and checks that nothing is lost.

The tests run a short version. The figures of docs/reliability.md come from:
  cd tests/end_to_end && VOLTPILE=../../build/release/voltpile python3 kill_storm.py --kills 1000
"""

import argparse
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time

import h5py

from harness import DONE, ENVIRONMENT, MPIRUN, PATIENCE, VOLTPILE


class Storm:
    """One job, its uninterrupted result, and what has happened to it so far. check: compares two open results."""

    def __init__(self, folder, job, options, check):
        self.folder, self.job, self.options, self.check = pathlib.Path(folder), job, options, check
        self.result = self.folder / "storm.h5"
        self.kills = self.results = self.left_over = 0
        self.committed = {}  # parts by name, with their bytes, of the current result
        self.run("whole.h5", ranks=1)

    def command(self, output, ranks):
        launcher = [MPIRUN, "-np", str(ranks)] if ranks > 1 else []
        return launcher + [VOLTPILE, "run", str(self.job), "--output", output, *self.options]

    def start(self, output, ranks, fault=""):
        with open(self.folder / "log.txt", "w", encoding="utf-8") as log:  # ranks that outlive mpirun keep a pipe open
            return subprocess.Popen(self.command(output, ranks), cwd=self.folder, stdout=log, stderr=log,
                                    env={**ENVIRONMENT, "VOLTPILE_FAULT": fault}, start_new_session=True)

    def run(self, output, ranks):
        process = self.start(output, ranks)
        code = process.wait(120 * PATIENCE)
        assert code == DONE, f"exit code {code}: {(self.folder / 'log.txt').read_text()}"

    def parts(self):
        """The committed parts, each with its content. They are removed once the result is there."""
        found = {}
        for path in pathlib.Path(f"{self.result}.parts").glob("part-*.h5"):
            try:
                found[path.name] = path.read_bytes()
            except FileNotFoundError:
                pass
        return found

    def look(self):
        """Every file opens, and no committed range is lost, changed or there twice."""
        now = self.parts()
        if self.result.exists():
            with h5py.File(self.result) as file:
                assert int(file.attrs["complete"]) == 1
            self.committed = {}
            return
        for name, content in self.committed.items():
            assert now.get(name) == content, f"{name} is lost or changed"
        ranges = sorted(tuple(int(word) for word in name[5:-3].split("-")) for name in now)
        for (_, end), (begin, _) in zip(ranges, ranges[1:]):
            assert end <= begin, f"points from {begin} on are in two parts"
        if now:
            verified = subprocess.run([VOLTPILE, "verify", self.result], capture_output=True, text=True, check=False)
            # A result may have been completed in between, but nothing may be damaged.
            assert verified.returncode == DONE, verified.stderr
        self.committed = now

    def kill_at_random(self, ranks, delay_s, generator):
        """Kills one rank, or the launcher, after a delay. Returns False if the job ended before."""
        process = self.start(self.result.name, ranks)
        try:
            process.wait(delay_s)
        except subprocess.TimeoutExpired:
            victims = self.ranks_of(process.pid) if ranks > 1 else [process.pid]
            try:
                os.kill(generator.choice(victims or [process.pid]), signal.SIGKILL)
            except ProcessLookupError:  # it has just ended by itself
                process.wait(120 * PATIENCE)
        if process.returncode is not None:
            assert process.returncode == DONE, f"exit code {process.returncode}: {(self.folder / 'log.txt').read_text()}"
            self.finish_result()
            return False
        self.end(process)
        self.kills += 1
        self.look()
        return True

    def kill_at_write(self, ranks, rank, number):
        """Returns False if the rank makes fewer writes."""
        process = self.start(self.result.name, ranks, f"kill:rank={rank},write={number}")
        code = process.wait(120 * PATIENCE)
        if code == DONE:
            self.finish_result()
            return False
        self.end(process)
        self.kills += 1
        self.look()
        return True

    def finish_result(self):
        """Compares a result that was completed with the uninterrupted one, and begins anew."""
        with h5py.File(self.result) as result, h5py.File(self.folder / "whole.h5") as whole:
            self.check(result, whole)
        left = pathlib.Path(f"{self.result}.parts")
        if left.exists():  # a process that is just ending may still have held its lock: the next run removes the folder
            self.left_over += 1
            print(f"left beside the result: {sorted(path.name for path in left.iterdir())}", flush=True)
            self.run(self.result.name, ranks=1)
        assert not left.exists(), f"{list(left.iterdir())}: {(self.folder / 'log.txt').read_text()}"
        self.result.unlink()
        self.committed = {}
        self.results += 1

    def complete(self, ranks):
        """Resumes until the result is there. A kill between its last rename and the removal of the parts leaves both."""
        self.run(self.result.name, ranks)
        self.finish_result()

    @staticmethod
    def ranks_of(launcher):
        found = subprocess.run(["pgrep", "-P", str(launcher), "-x", "voltpile"], capture_output=True, text=True, check=False)
        return [int(pid) for pid in found.stdout.split()]

    def end(self, process):
        """Waits until all processes of the job have ended: a surviving rank would be a second writer."""
        try:
            process.wait(30 * PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        deadline = time.monotonic() + 30 * PATIENCE
        while self.session_lives(process.pid):
            assert time.monotonic() < deadline, "ranks outlive their launcher"
            time.sleep(0.01)

    @staticmethod
    def session_lives(session):
        return subprocess.run(["pgrep", "-s", str(session)], capture_output=True, check=False).returncode == 0

    def random_storm(self, kills, ranks, generator):
        """Kills until there were as many; the delays follow how long the job takes here and now."""
        began = time.monotonic()
        self.complete(ranks)
        longest = time.monotonic() - began
        while kills > 0:
            if self.kill_at_random(ranks, generator.uniform(0.02, longest), generator):
                kills -= 1
            else:
                longest *= 0.9
        self.complete(ranks)

    def write_storm(self, ranks, rank, step=1):
        """Kills a rank at its first write, the job that resumes at its second one, and so on: each run meets other work."""
        number = 1
        while self.kill_at_write(ranks, rank, number):
            number += step
        return number

    def boundary_storm(self, ranks, rank, step=1):
        """Kills a rank of a new job at each of its writes, and completes each job."""
        number = 1
        while self.kill_at_write(ranks, rank, number):
            self.complete(ranks)
            number += step
        return number


def same_rows(result, whole):
    """The fields of the llm app that do not depend on timing."""
    same_fields(result, whole, ("text", "tokens", "log_probability", "finish_reason", "error"))


def same_fields(result, whole, names=None):
    """Bit for bit, in every field."""
    assert list(result.attrs["fields"]) == list(whole.attrs["fields"])
    for name in names or whole.attrs["fields"]:
        if h5py.check_vlen_dtype(whole[name].dtype) or h5py.check_string_dtype(whole[name].dtype):
            assert all(bytes(a) == bytes(b) for a, b in zip(result[name][()], whole[name][()], strict=True)), name
        else:
            assert result[name][()].tobytes() == whole[name][()].tobytes(), name


def main():
    from test_kill_storm import llm_storm, sweep_storm

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000, help="in all, if the jobs have fewer writes")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--jobs", nargs="+", choices=["sweep", "llm"], default=["sweep", "llm"])
    parser.add_argument("--step", type=int, default=1, help="kill at every STEPth write of each rank")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    generator = random.Random(options.seed)
    began = time.monotonic()
    total = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in options.jobs:
            make = sweep_storm if name == "sweep" else llm_storm
            for ranks in options.ranks:
                storm = make(pathlib.Path(folder) / f"{name}{ranks}")
                for rank in range(ranks):
                    storm.boundary_storm(ranks, rank, options.step)
                at_writes = storm.kills
                each = options.kills // (len(options.jobs) * len(options.ranks))
                storm.random_storm(max(1, each - at_writes), ranks, generator)
                total += storm.kills
                print(f"{name}, {ranks} ranks: {at_writes} kills at writes, {storm.kills - at_writes} at random moments, "
                      f"{storm.results} results, all equal to the uninterrupted one, {storm.left_over} part folders left for the next "
                      f"run to remove; {time.monotonic() - began:.0f} s", flush=True)
    print(f"{total} kills in {time.monotonic() - began:.0f} s: nothing lost, nothing twice")


if __name__ == "__main__":
    main()
