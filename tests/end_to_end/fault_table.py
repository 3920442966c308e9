"""Injects each kind of fault (VOLTPILE_FAULT) into one rank after the other of a sweep at 3 ranks and of a job of prompts at 2 ranks.

Each job must finish by itself, or end with the documented exit code and name the rank; then it must resume, and the result be that of
an uninterrupted run. The tests run some of the cases. All of them, and the table of docs/reliability.md, come from:
  cd tests/end_to_end && VOLTPILE=../../build/release/voltpile python3 fault_table.py
"""

import dataclasses
import pathlib
import re
import shutil
import subprocess
import tempfile

import h5py

from harness import DONE, ENVIRONMENT, FAILED, MPIRUN, PATIENCE, VOLTPILE

DEADLINE_S = 3 * PATIENCE
DEADLINES = [word for key in ("silent", "commit", "compute", "collective", "transfer")
             for word in ("--set", f"watchdog.{key}_s={DEADLINE_S}")]
OTHERS = 3  # at most
KILLED = 128 + 9  # mpirun passes on how the rank ended


@dataclasses.dataclass(frozen=True)
class Fault:
    job: str  # which kind of job
    action: str
    place: str  # with its number
    rank: int
    codes: tuple  # exit codes; DONE: the fault changes nothing
    names: str = ""  # a pattern of stderr, in which {rank} is the rank

    def variable(self):
        action, _, rest = self.action.partition(" ")
        place, number = self.place.split("=")
        # Of four calls that commit a part (write, fsync, rename, fsync), one writes.
        numbers = range(int(number), int(number) + (4 if action in ("short", "corrupt") else 1))
        faults = [f"{action}:rank={self.rank},{rest and rest + ','}{place}={each}" for each in numbers]
        if place in ("range", "write"):  # the other ranks leave enough to this one
            faults += [f"delay:rank={rank},ms=1000,range=1" for rank in range(OTHERS) if rank != self.rank]
        return "; ".join(faults)

    def options(self):
        """Deadlines of the watchdog, where it is to notice the fault."""
        return DEADLINES if self.action in ("stop", "hang", "drop") else ()


NAMED = r"error \(rank {rank} on \S+\)"
STALLED = r"rank {rank} on \S+ "  # said by rank 0, or by another rank if that one is silent
BY_MPIRUN = r"(rank {rank} |{rank} with PID|rank {rank} on \S+)"


def faults_at(job, rank, places):
    """All faults of a rank. places: where they strike, with numbers that this rank reaches."""
    for place in places:
        yield Fault(job, "kill", place, rank, (KILLED,), BY_MPIRUN)
        yield Fault(job, "stop", place, rank, (FAILED,), STALLED + "has been silent for")
        yield Fault(job, "hang", place, rank, (FAILED,), STALLED + ".*(has not moved for|waits for it)")
        yield Fault(job, "delay ms=300", place, rank, (DONE,))
        if place.startswith("write"):
            yield Fault(job, "enospc", place, rank, (FAILED,), NAMED + ".*No space left on device")
            yield Fault(job, "eio", place, rank, (FAILED,), NAMED + ".*Input/output error")
            yield Fault(job, "short", place, rank, (DONE,))
            yield Fault(job, "corrupt", place, rank, (FAILED,), r"part-\S+: .*; moved aside")  # a disk does not say who wrote


def link_faults_of(job, rank):
    """Faults of the link that connects a rank to the others."""
    yield Fault(job, "drop", "message=6", rank, (FAILED,), STALLED + "has been silent for")
    yield Fault(job, "lossy ms=300", "message=1", rank, (DONE,))


class FaultyJob:
    """A job, and its uninterrupted result. same: compares two open results."""

    def __init__(self, folder, job, options, ranks, same):
        self.folder, self.ranks, self.same = pathlib.Path(folder), ranks, same
        self.command = [MPIRUN, "-np", str(ranks), VOLTPILE, "run", str(job), *options]
        code, err = self.run("whole.h5")
        assert code == DONE, err

    def run(self, output, fault="", options=()):
        process = subprocess.run([*self.command, *options, "--output", output], cwd=self.folder, env={**ENVIRONMENT, "VOLTPILE_FAULT": fault},
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                 timeout=120 * PATIENCE, check=False)
        return process.returncode, process.stderr

    def check(self, fault):
        """Returns what happened: the exit code, and "finished" or "resumed"."""
        result = self.folder / "a.h5"
        code, err = self.run(result.name, fault.variable(), fault.options())
        assert code in fault.codes, f"{fault.variable()}: exit code {code}: {err}"
        if code != DONE:
            assert re.search(fault.names.format(rank=fault.rank), err), f"{fault.variable()}: does not name the rank: {err}"
            again, err = self.run(result.name)
            assert again == DONE, f"{fault.variable()}: resumed with exit code {again}: {err}"
        verified = subprocess.run([VOLTPILE, "verify", result], capture_output=True, text=True, check=False)
        assert verified.returncode == DONE, f"{fault.variable()}: {verified.stderr}"
        with h5py.File(result) as here, h5py.File(self.folder / "whole.h5") as whole:
            self.same(here, whole)
        left = pathlib.Path(f"{result}.parts")
        assert not left.exists(), f"{fault.variable()}: {list(left.iterdir())}"
        result.unlink()
        return code


def main():
    from test_faults import all_faults, make_jobs

    with tempfile.TemporaryDirectory() as folder:
        jobs = make_jobs(pathlib.Path(folder))
        rows, failures = {}, 0
        for fault in all_faults():
            try:
                outcome = str(jobs[fault.job].check(fault))
            except (AssertionError, subprocess.TimeoutExpired) as error:
                outcome, failures = "FAILED", failures + 1
                print(f"{fault.job}: {error}", flush=True)
                shutil.rmtree(jobs[fault.job].folder / "a.h5.parts", ignore_errors=True)
                (jobs[fault.job].folder / "a.h5").unlink(missing_ok=True)
            print(f"{fault.job} {fault.variable()} -> {outcome}", flush=True)
            rows.setdefault((fault.job, fault.action.split()[0], fault.place.split("=")[0]), []).append((fault.rank, outcome))
        print("| job | action | place | exit code at rank 0, 1, ... |\n|---|---|---|---|")
        for (job, action, place), outcomes in rows.items():
            print(f"| {job} | `{action}` | `{place}` | {', '.join(outcome for _, outcome in sorted(outcomes))} |")
        print(f"{sum(map(len, rows.values()))} faults, {failures} failures")


if __name__ == "__main__":
    main()
