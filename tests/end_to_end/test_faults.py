"""Disks that fail, writes that are cut short, ranks that end or hang, by VOLTPILE_FAULT: the job says so and resumes."""

import json
import unittest

from fault_table import FaultyJob, faults_at, link_faults_of
from harness import BAD_INPUT, DONE, FAILED, MAP, Case
from kill_storm import same_fields, same_rows
from llm_case import GREEDY, JOB
from tiny_model import MODELS

SWEEP = ("--set", "sweep.x.count=12", "--set", "sweep.y.count=10", "--set", "integrate.steps=1000", "--set", "run.range_points=30")
COMMIT = 20  # a write in the middle of the commits of one rank
SWEEP_RANKS, LLM_RANKS = 3, 2


def all_faults():
    """Every fault at every rank of a sweep and of a job of prompts, whose two ranks have a replica each or share one."""
    for rank in range(SWEEP_RANKS):
        # Rank 0 opens the part folder with its first writes.
        yield from faults_at("sweep", rank, ("range=1", f"write={COMMIT if rank == 0 else 3}"))
        yield from link_faults_of("sweep", rank)
    for rank in range(LLM_RANKS):
        yield from faults_at("llm", rank, ("range=1", f"write={COMMIT if rank == 0 else 3}"))
        yield from link_faults_of("llm", rank)
        yield from faults_at("llm, tensor=2", rank, ("collective=40",))


def make_jobs(folder):
    (folder / "map.toml").write_text(MAP)
    (folder / "job.toml").write_text(JOB.format(model=MODELS / "tiny-q8_0.gguf"))
    (folder / "prompts.jsonl").write_text("".join(
        json.dumps({"prompt": GREEDY[i % len(GREEDY)]["prompt"] + " and" * (i // len(GREEDY)), "max_tokens": 4 + i % 5}) + "\n"
        for i in range(16)))
    sweep = ("--set", "sweep.x.count=12", "--set", "sweep.y.count=10", "--set", "integrate.steps=20000", "--set", "run.range_points=4")
    jobs = {}
    for name, job, options, ranks, same in (
            ("sweep", "map.toml", sweep, SWEEP_RANKS, same_fields),
            ("llm", "job.toml", ("--set", "engine.tensor=1", "--set", "engine.pipeline=1"), LLM_RANKS, same_rows),
            ("llm, tensor=2", "job.toml", ("--set", "engine.tensor=2", "--set", "engine.pipeline=1"), LLM_RANKS, same_rows)):
        place = folder / name.replace(", ", "-")
        place.mkdir()
        (place / "prompts.jsonl").write_text((folder / "prompts.jsonl").read_text())
        jobs[name] = FaultyJob(place, folder / job, options, ranks, same)
    return jobs


class RanksThatDieAndDisksThatLie(Case):
    def test_lose_nothing(self):
        """Each at one rank; fault_table.py tries every fault at every rank, and test_watchdog.py ranks that are silent."""
        jobs = make_jobs(self.folder)
        kinds = {}
        for fault in all_faults():
            if fault.action.split()[0] in ("kill", "corrupt", "lossy"):
                kinds.setdefault((fault.job, fault.action, fault.place.split("=")[0]), []).append(fault)
        for number, faults in enumerate(kinds.values()):
            fault = faults[number % len(faults)]
            with self.subTest(job=fault.job, fault=fault.variable()):
                jobs[fault.job].check(fault)


class Faults(Case):
    def setUp(self):
        super().setUp()
        self.voltpile("run", self.job, "--output", "whole.h5", *SWEEP)

    def run_with(self, fault, expect, ranks=None):
        return self.voltpile("run", self.job, "--output", "a.h5", *SWEEP, ranks=ranks, expect=expect,
                             environment={"VOLTPILE_FAULT": fault})

    def resume(self):
        self.voltpile("run", self.job, "--output", "a.h5", *SWEEP)
        self.assert_same_result("whole.h5", "a.h5")
        self.voltpile("verify", "a.h5")
        (self.folder / "a.h5").unlink()

    def test_failing_disks_end_the_job_and_lose_nothing(self):
        for fault, says in (("enospc", "No space left on device"), ("eio", "Input/output error")):
            for ranks, rank, number in ((None, 0, COMMIT), (2, 1, 6)):
                with self.subTest(fault=fault, rank=rank):
                    _, err = self.run_with(f"{fault}:rank={rank},write={number}", FAILED, ranks)
                    self.assertIn(says, err)
                    self.resume()

    def test_short_writes_and_delays_change_nothing(self):
        for fault in (f"short:write={COMMIT}; short:write={COMMIT + 1}", f"delay:ms=200,write={COMMIT}; delay:ms=100,range=2"):
            with self.subTest(fault=fault):
                self.run_with(fault, DONE)
                self.assert_same_result("whole.h5", "a.h5")
                (self.folder / "a.h5").unlink()

    def test_a_misspelled_fault_is_an_error(self):
        _, err = self.run_with("kil:write=1", BAD_INPUT)
        self.assertIn("unknown action 'kil'", err)


if __name__ == "__main__":
    unittest.main()
