"""voltpile generate on all GPUs of the machine: every split of the tiny model gives the text that the cores give.
Skipped without a GPU."""

import json
import subprocess
import unittest

from harness import WITH_GPUS, Case
from tiny_model import EXPECTED, FILES, MODELS


def gpus():
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60)
    except OSError:
        return 0
    return listed.stdout.count("GPU ") if listed.returncode == 0 else 0


GPUS = gpus()
CUTS = ((1, 1, 1), (2, 2, 1), (2, 1, 2), (4, 4, 1), (4, 2, 2), (4, 1, 4))  # (ranks, tensor, pipeline)


@unittest.skipUnless(GPUS, "no GPU")
class GenerateOnGpus(Case):
    base_environment = WITH_GPUS

    def cuts(self):
        return [cut for cut in CUTS if cut[0] <= GPUS]

    def generate(self, model, prompt, count, cut, *options):
        ranks, tensor, pipeline = cut
        out, err = self.voltpile("generate", model, prompt, "-n", str(count), "--tensor", str(tensor), "--pipeline", str(pipeline),
                                 *options, ranks=ranks, timeout=300)
        return out, err

    # At every step the best token leads by a logit difference of at least 0.09; rounding to fp16 changes logits far less.
    def test_every_file_gives_the_same_text_on_every_split(self):
        for name, path in FILES.items():
            for cut in self.cuts():
                if name == "q5_k_m" and cut[1] == 4:
                    continue  # 768 has only 3 blocks of 256
                with self.subTest(file=name, cut=cut):
                    wanted = EXPECTED[name]["greedy"][0]
                    out, err = self.generate(MODELS / path, wanted["prompt"], len(wanted["ids"]), cut)
                    self.assertEqual(out, wanted["prompt"] + wanted["text"] + "\n")
                    self.assertNotRegex(err, "thread")  # it did not run on cores

    def test_one_host_can_count_as_two_nodes(self):
        if GPUS < 4:
            self.skipTest("needs 4 GPUs")
        wanted = EXPECTED["q8_0"]["greedy"][1]
        out, err = self.generate(MODELS / "tiny-q8_0.gguf", wanted["prompt"], len(wanted["ids"]), (4, 0, 2), "--ranks-per-node", "2")
        self.assertEqual(out, wanted["prompt"] + wanted["text"] + "\n")
        self.assertIn("TP2 x PP2", err)

    # Prompts of several pieces; log probabilities near those of the cores (fp16 activations change a logit by some 1e-3).
    def test_long_prompt_matches_the_cores(self):
        text = (MODELS / "held_out.txt").read_text()[:1200]  # more than 256 tokens
        cpu, _ = self.voltpile("generate", MODELS / "tiny-f16.gguf", text, "-n", "4", "--json", "--cpu")
        for cut in self.cuts():
            with self.subTest(cut=cut):
                out, _ = self.generate(MODELS / "tiny-f16.gguf", text, 4, cut, "--json")
                here, there = json.loads(out), json.loads(cpu)
                self.assertAlmostEqual(here["log_probabilities"][0], there["log_probabilities"][0], delta=0.02)

    def test_leaves_out_ranks_without_a_gpu(self):
        wanted = EXPECTED["q8_0"]["greedy"][1]
        out, err = self.voltpile("generate", MODELS / "tiny-q8_0.gguf", wanted["prompt"], "-n", "8", "--json", ranks=GPUS + 1,
                                 timeout=300)
        self.assertEqual(json.loads(out)["tokens"], wanted["ids"][:8])
        self.assertIn("in no team: ", err)


if __name__ == "__main__":
    unittest.main()
