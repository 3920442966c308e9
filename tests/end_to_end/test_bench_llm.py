"""`voltpile bench llm`: what it measures, its JSON and its file, and what it refuses."""

import json
import pathlib
import unittest

import xarray

from harness import BAD_INPUT, Case

MODELS = pathlib.Path(__file__).resolve().parents[2] / "data" / "tiny_model"
SMALL = ("--prompt", "40", "--context", "20", "--batch", "1,3", "--generate", "4", "--cpu")


def weight_bytes_q8_0(ranks=1):
    """Of one pass on one of `ranks`: its part of all matrices (34 bytes for 32 weights), the embedding only as the head
    that it also is, and the norms in fp32."""
    config = json.loads((MODELS / "hf" / "config.json").read_text())
    hidden, inner, layers = config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]
    head_dim = config.get("head_dim") or hidden // config["num_attention_heads"]
    heads = config["num_attention_heads"] + 2 * config["num_key_value_heads"]
    matrices = layers * (heads * head_dim * hidden + hidden * hidden + 3 * hidden * inner) + config["vocab_size"] * hidden
    return matrices / ranks * 34 / 32 + (2 * layers + 1) * hidden * 4


class BenchLlm(Case):
    def bench(self, *arguments, ranks=1):
        out, _ = self.voltpile("bench", "llm", *arguments, "--json", ranks=ranks)
        return json.loads(out)

    def test_measures_every_batch_and_context(self):
        answer = self.bench(MODELS / "tiny-q8_0.gguf", *SMALL, "--context", "520")
        rows = [(row["pass"], row["batch"], row["context"]) for row in answer["rows"]]
        generation = [("generation", batch, context) for batch in (1, 3) for context in (20, 520)]
        self.assertEqual(rows, [("prompt", 1, 40)] + generation)
        rate = min(rank["read_bytes_per_second"] for rank in answer["ranks"])
        self.assertAlmostEqual(answer["weight_bytes"], weight_bytes_q8_0())
        for row in answer["rows"]:
            tokens = row["context"] if row["pass"] == "prompt" else row["batch"]
            self.assertAlmostEqual(row["tokens_per_second"] * row["seconds"] / tokens, 1)
            if row["pass"] == "generation":
                self.assertAlmostEqual(row["weight_bytes_per_second"] * row["seconds"] / answer["weight_bytes"], 1)
                self.assertAlmostEqual(row["bandwidth_share"] * rate / row["weight_bytes_per_second"], 1)
        for name in ("prompt", "generation"):
            operations = [op for op in answer["operations"] if op["pass"] == name]
            self.assertLessEqual({"norm", "attention", "rope and store", "sampling"}, {op["name"] for op in operations})
            self.assertAlmostEqual(sum(op["share"] for op in operations), 1)
        for rank in answer["ranks"]:
            for of_gpus in ("context_bytes", "link_bytes", "pass_bytes"):
                self.assertEqual(rank.pop(of_gpus), 0)
            self.assertTrue(all(value > 0 for value in rank.values()), rank)

    def test_teams(self):
        for cut, names in (("--tensor", {"all-reduce", "all-gather"}), ("--pipeline", set())):
            with self.subTest(cut=cut):
                answer = self.bench(MODELS / "tiny-q8_0.gguf", *SMALL, cut, "2", ranks=2)
                self.assertAlmostEqual(answer["weight_bytes"], weight_bytes_q8_0(2 if names else 1))
                self.assertEqual((answer["tensor"], answer["pipeline"]), (2, 1) if names else (1, 2))
                self.assertEqual(len(answer["ranks"]), 2)
                found = {op["name"] for op in answer["operations"]}
                self.assertEqual({"all-reduce", "all-gather"} & found, names)

    def test_table_and_file(self):
        model = ("--shape", "tiny", "--quant", "q5_k_m")
        out, _ = self.voltpile("bench", "llm", *model, *SMALL, "--output", "llm.h5")
        for word in ("loading", "memory", "bandwidth", "tok/s", "prompt by operation", "generation by operation"):
            self.assertIn(word, out)
        with xarray.open_dataset(self.folder / "llm.h5") as file:
            self.assertEqual(file.attrs["software"], "voltpile")
            self.assertEqual(file.weight_rate.attrs["units"], "byte/s")
            measurements = json.loads(file.attrs["measurements"])
            self.assertEqual(list(file["batch"].values), [row["batch"] for row in measurements["rows"]])

    def test_refused(self):
        model = MODELS / "tiny-q8_0.gguf"
        for arguments, says in (
            ((), "MODEL or a --shape"),
            ((model, "--shape", "tiny"), "MODEL or a --shape"),
            (("--shape", "llama-9"), "llama-9"),
            (("--shape", "tiny", "--quant", "q3"), "q3"),
            ((model, "--batch", "0"), "--batch"),
            ((model, "--tensor", "3"), "3"),
            ((model, "--output", "nowhere/llm.h5"), "nowhere"),
        ):
            with self.subTest(arguments=arguments):
                _, err = self.voltpile("bench", "llm", *arguments, expect=BAD_INPUT)
                self.assertIn(says, err)


if __name__ == "__main__":
    unittest.main()
