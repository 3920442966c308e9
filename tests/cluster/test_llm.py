"""Language models over three nodes give the same text as one rank: generate and jobs, with mpirun, srun and submit."""

import json
import re
import unittest

from voltpile_case import SHARED_CORES, SOURCE, VOLTPILE, VoltpileCase

MODEL = SOURCE / "data/tiny_model/tiny-q8_0.gguf"
JOB = f"""
app = "llm"
[model]
path = "{MODEL}"
[prompts]
files = ["{SOURCE}/jobs/llm/prompts/verses.jsonl"]
[generate]
max_tokens = 24
[engine]
context = 256
sequences = 4
[run]
device = "cpu"
threads = 1
"""


class LanguageModels(VoltpileCase):
    with_slurm = True

    GENERATE = ["generate", MODEL, "In the beginning", "--max-tokens", "24", "--json"]

    def text(self, result):
        return json.loads(result.stdout.strip().split("\n")[-1])["text"]

    def rows(self, path):
        import h5py

        with h5py.File(path, "r") as file:
            assert int(file.attrs["complete"]) == 1
            return [(text, list(tokens)) for text, tokens in zip(file["text"].asstr(), file["tokens"])]

    def test_generate(self):
        alone = self.text(self.rack.run("node1", [VOLTPILE, *self.GENERATE], expect=0))
        for each, cut in ((1, ["--pipeline", "3"]), (2, ["--tensor", "2", "--pipeline", "3"])):
            hosts = ",".join(f"{node}:{each}" for node in self.rack.layout.nodes)
            srun = ["srun", "--mpi=pmix", "-N3", f"--ntasks-per-node={each}", VOLTPILE, *self.GENERATE, *cut]
            with self.subTest(cut=cut):
                self.assertEqual(self.text(self.mpirun(*self.GENERATE, *cut, hosts=hosts)), alone)
                self.assertEqual(self.text(self.rack.run("head", srun, env=SHARED_CORES, expect=0, timeout=60)), alone)

    def test_job(self):
        job = self.write("verses.toml", JOB)
        self.rack.run("node1", [VOLTPILE, "run", job, "--output", "alone.h5"], expect=0)
        alone = self.rows(self.rack.shared / "alone.h5")
        self.assertEqual(len(alone), 8)
        for cut in ("engine.pipeline=3", "engine.replicas=3"):
            with self.subTest(cut=cut):
                output = self.rack.shared / f"{cut}.h5"
                submitted = self.rack.run("head", [VOLTPILE, "submit", job, "--nodes", "3", "--tasks-per-node", "1",
                                                   "--output", output, "--set", cut], cwd=self.rack.shared, expect=0)
                job_id = re.search(r"^job +(\d+) ", submitted.stdout, re.M).group(1)
                ended = self.rack.wait_job(job_id, "COMPLETED FAILED CANCELLED", 60)
                log = (self.rack.shared / f"{cut}-{job_id}.log").read_text()
                self.assertEqual(ended["JobState"], "COMPLETED", log)
                self.assertEqual(self.rows(output), alone)


if __name__ == "__main__":
    unittest.main()
