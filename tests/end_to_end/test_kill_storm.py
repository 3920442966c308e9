"""kill -9 at writes and at random moments loses no committed range: the short version of kill_storm.py."""

import json
import random
import unittest

from harness import MAP, Case
from kill_storm import Storm, same_fields, same_rows
from llm_case import GREEDY, JOB
from tiny_model import MODELS

SWEEP = ("--set", "sweep.x.count=12", "--set", "sweep.y.count=10", "--set", "integrate.steps=2000", "--set", "run.range_points=30")


def sweep_storm(folder):
    """A map of 120 points in four parts."""
    folder.mkdir(exist_ok=True)
    job = folder / "map.toml"
    job.write_text(MAP)
    return Storm(folder, job, SWEEP, same_fields)


def llm_storm(folder):
    """Six prompts, which share batches of one replica per rank."""
    folder.mkdir(exist_ok=True)
    job = folder / "job.toml"
    job.write_text(JOB.format(model=MODELS / "tiny-q8_0.gguf"))
    (folder / "prompts.jsonl").write_text("".join(
        json.dumps({"prompt": GREEDY[i % len(GREEDY)]["prompt"] + " and" * (i // len(GREEDY)), "max_tokens": 4 + 3 * i}) + "\n"
        for i in range(6)))
    return Storm(folder, job, ("--set", "engine.tensor=1", "--set", "engine.pipeline=1"), same_rows)


class KillStorm(Case):
    def test_a_sweep_killed_at_its_writes(self):
        storm = sweep_storm(self.folder)
        for ranks, rank, step in ((1, 0, 5), (2, 1, 4)):
            with self.subTest(ranks=ranks, rank=rank):
                self.assertGreater(storm.boundary_storm(ranks, rank, step), step)
        self.assertGreater(storm.kills, 5)

    def test_a_sweep_killed_again_and_again(self):
        storm = sweep_storm(self.folder)
        storm.write_storm(1, 0, 6)
        self.assertGreater(storm.kills, 2)

    def test_a_sweep_killed_at_random_moments(self):
        storm = sweep_storm(self.folder)
        storm.random_storm(2, 1, random.Random(1))
        storm.random_storm(2, 4, random.Random(2))

    def test_an_llm_job_killed_at_writes_and_at_random_moments(self):
        storm = llm_storm(self.folder)
        storm.boundary_storm(1, 0, 9)
        storm.random_storm(3, 1, random.Random(3))
        storm.random_storm(2, 2, random.Random(4))


if __name__ == "__main__":
    unittest.main()
