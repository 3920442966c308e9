"""What tests of the llm app share: a job of a tiny model, its prompts, and the rows of its result."""

import json
import time

import h5py
import numpy

from harness import ENVIRONMENT, SOURCE, Case
from tiny_model import EXPECTED, MODELS

JOBS = SOURCE / "jobs/llm"
GREEDY = EXPECTED["q8_0"]["greedy"]

JOB = """
app = "llm"
[model]
path = "{model}"
[prompts]
files = ["prompts.jsonl"]
[generate]
max_tokens = 24
[engine]
context = 128
sequences = 4
[run]
device = "cpu"
range_points = 1
"""


class LlmJob(Case):
    # From AVX2 on, activations are rounded to 8 bits, which turns the last bits of a tensor-parallel sum into 1/127 of a number here
    # and there. At the baseline all cuts agree within the rounding of fp32.
    base_environment = ENVIRONMENT | {"VOLTPILE_CPU_LEVEL": "baseline"}

    def setUp(self):
        super().setUp()
        self.job = self.folder / "job.toml"
        self.job.write_text(JOB.format(model=MODELS / "tiny-q8_0.gguf"))
        self.prompts = self.folder / "prompts.jsonl"

    def write_prompts(self, lines):
        self.prompts.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))

    def write_mixed(self, count=24):
        """Writes greedy and seeded prompts, long and short ones."""
        texts = [each["prompt"] for each in GREEDY]
        self.write_prompts({"prompt": texts[i % len(texts)] + " and" * (i % 3), "max_tokens": 6 + 5 * (i % 4),
                    "temperature": 0.8 * (i % 2)} for i in range(count))

    def start_with_parts(self, count, *arguments, ranks=None):
        """Starts the job with the result b.h5. Returns when `count` parts are committed or the job has ended."""
        result = self.folder / "b.h5"
        process = self.start("run", self.job, "--output", result.name, "--set", "run.range_seconds=0.001", *arguments,
                             ranks=ranks)
        while process.poll() is None and not result.exists() and len(self.parts(result)) < count:
            time.sleep(0.001)
        return process

    def rows(self, result="a.h5"):
        """Returns everything about each prompt that does not depend on timing."""
        with h5py.File(self.folder / result) as file:
            self.assertEqual(int(file.attrs["complete"]), 1)
            meanings = file["finish_reason"].attrs["flag_meanings"].split()
            return [(file["text"].asstr()[i], list(file["tokens"][i]), file["log_probability"][i].tolist(),
                     meanings[file["finish_reason"][i]], file["error"].asstr()[i])
                    for i in range(len(file["prompt"]))]

    def assert_same(self, rows, others):
        """Compares rows from different cuts, whose fp32 sums have another order, with log-probabilities of about 1."""
        for one, other in zip(rows, others, strict=True):
            self.assertEqual(one[:2] + one[3:], other[:2] + other[3:])
            numpy.testing.assert_allclose(one[2], other[2], atol=2e-3)
