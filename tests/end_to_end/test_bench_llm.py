"""`voltpile bench llm`: its measurements, its JSON and HDF5 output, and rejected arguments."""

import json
import os
import pathlib
import shutil
import unittest

import h5py
import numpy

from harness import BAD_INPUT, Case

MODELS = pathlib.Path(__file__).resolve().parents[2] / "data" / "tiny_model"
SMALL = ("--prompt", "40", "--context", "20", "--batch", "1,3", "--generate", "4", "--cpu")


def weight_bytes_q8_0(ranks=1):
    """Returns the bytes that one of `ranks` reads in a pass: its part of all matrices (34 bytes for 32 weights), with the
    embedding counted once as the output head, and the norms in fp32."""
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
            self.assertLessEqual({"norm", "attention", "gather and join", "sampling"}, {op["name"] for op in operations})
            self.assertAlmostEqual(sum(op["share"] for op in operations), 1)
        for rank in answer["ranks"]:
            for of_gpus in ("context_bytes", "link_bytes", "pass_bytes"):
                self.assertEqual(rank.pop(of_gpus), 0)
            self.assertEqual(rank.pop("cache_bytes"), 0)  # tests see no /sys
            self.assertTrue(all(value > 0 for value in rank.values()), rank)

    def test_says_when_the_weights_may_stay_in_the_caches(self):
        for size, stays in (("512K", False), ("262144K", True)):
            for cpu in os.sched_getaffinity(0):
                cache = self.folder / "sys" / "devices" / "system" / "cpu" / f"cpu{cpu}" / "cache" / "index3"
                cache.mkdir(parents=True, exist_ok=True)
                for name, text in (("level", "3"), ("type", "Unified"), ("size", size), ("shared_cpu_list", "0-9999")):
                    (cache / name).write_text(text + "\n")
            out, _ = self.voltpile("bench", "llm", MODELS / "tiny-q8_0.gguf", *SMALL,
                                   environment={"VOLTPILE_SYS": str(self.folder / "sys")})
            self.assertEqual("may stay in the caches (268 MB)" in out, stays, out)

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
        with self.open_dataset("llm.h5") as file:
            self.assertEqual(file.attrs["software"], "voltpile")
            self.assertEqual(file.weight_rate.attrs["units"], "byte/s")
            measurements = json.loads(file.attrs["measurements"])
            self.assertEqual(list(file["batch"].values), [row["batch"] for row in measurements["rows"]])

    def test_weights_of_mapped_files_are_not_loaded(self):
        out, _ = self.voltpile("bench", "llm", MODELS / "tiny-f16.gguf", *SMALL)
        self.assertIn("the weights stay in the mapped files", out)

    def test_weights_that_cores_pack_are_loaded(self):
        out, _ = self.voltpile("bench", "llm", MODELS / "tiny-q8_0.gguf", *SMALL)
        packs = "AVX" in out  # with the baseline's instructions, nothing is packed
        self.assertEqual(packs, "the weights stay in the mapped files" not in out)

    def test_sequences_may_have_adapters(self):
        for shape in ("tiny", "tiny-moe"):
            answer = self.bench("--shape", shape, *SMALL, "--adapters", "2", "--adapter-rank", "8")
            self.assertTrue(answer["model"].endswith("; 2 adapters of rank 8 in turn"), answer["model"])
            for name in ("prompt", "generation"):
                self.assertIn("adapters", {op["name"] for op in answer["operations"] if op["pass"] == name})
        load = ("--requests", "6", "--prompt-lengths", "9", "--generate-lengths", "3", "--cpu")
        answer = self.bench("--shape", "tiny", *load, "--adapters", "3", "--pipeline", "2", ranks=2)
        self.assertEqual(answer["tokens_out"], 18)
        self.assertTrue(answer["model"].endswith("; 3 adapters of rank 16 in turn"), answer["model"])

    def test_load(self):
        load = ("--requests", "12", "--prompt-lengths", "5:60", "--generate-lengths", "4:9", "--sequences", "6", "--cpu")
        for more, ranks in (((), 1), (("--rate", "100"), 1), (("--cache-tokens", "160"), 1), (("--pipeline", "2"), 2)):
            with self.subTest(more=more):
                answer = self.bench(MODELS / "tiny-q8_0.gguf", *load, *more, ranks=ranks)
                self.assertEqual(answer["requests"], 12)
                self.assertTrue(12 * 5 <= answer["tokens_in"] <= 12 * 60)
                self.assertTrue(12 * 4 <= answer["tokens_out"] <= 12 * 9)
                self.assertAlmostEqual(answer["tokens_out_per_second"] * answer["seconds"] / answer["tokens_out"], 1)
                self.assertLessEqual(answer["largest_batch"], 6)
                self.assertLessEqual(answer["mean_batch"], answer["largest_batch"])
                self.assertTrue(0 < answer["cache_share"] <= 1 and 0 < answer["busy_share"] <= 1)
                for name in ("first_token", "between_tokens"):
                    self.assertTrue(0 < answer[name]["median_seconds"] <= answer[name]["p99_seconds"])
                if "--cache-tokens" in more:
                    self.assertEqual(answer["cache_tokens"], 160)
        out, _ = self.voltpile("bench", "llm", "--shape", "tiny", *load)
        for word in ("12 requests, all at once", "prompts of 5 to 60 tokens", "first token", "preempted"):
            self.assertIn(word, out)

    def test_load_as_a_file(self):
        out, _ = self.voltpile("bench", "llm", MODELS / "tiny-q8_0.gguf", "--requests", "9", "--rate", "200", "--cpu",
                               "--prompt-lengths", "5:60", "--generate-lengths", "1:9", "--output", "load.h5")
        self.assertIn("-> load.h5", out)
        again = ("bench", "llm", "--shape", "tiny", "--requests", "1", "--generate-lengths", "1", "--cpu")
        self.voltpile(*again, "--output", "again.h5")
        self.voltpile(*again, "--output", "again.h5")  # a table may replace one of the same command
        with h5py.File(self.folder / "load.h5") as file:
            self.assertIn("--rate 200", file.attrs["commandLine"])
            measured = json.loads(file.attrs["measurements"])
            self.assertEqual(file["first_token"].attrs["units"], "s")
            self.assertEqual(len(file["row"]), 9)
            self.assertEqual(file["tokens_in"][:].sum(), measured["tokens_in"])
            self.assertEqual(file["tokens_out"][:].sum(), measured["tokens_out"])
            self.assertTrue((numpy.diff(file["arrival"][:]) >= 0).all())
            wait = file["first_token"][:] - file["arrival"][:]
            self.assertTrue((wait > 0).all() and (file["queued"][:] <= wait).all())
            self.assertAlmostEqual(numpy.median(wait), measured["first_token"]["median_seconds"])
            for first, end, tokens, gaps in zip(file["first_token"], file["end"], file["tokens_out"], file["between_tokens"]):
                self.assertEqual(len(gaps), tokens - 1)
                self.assertAlmostEqual(first + gaps.sum(), end)
            gaps = numpy.concatenate(file["between_tokens"][:])
            self.assertAlmostEqual(numpy.median(gaps), measured["between_tokens"]["median_seconds"])

    def test_load_within_a_grammar(self):
        load = ("--requests", "3", "--prompt-lengths", "8", "--generate-lengths", "40", "--cpu")
        answer = self.bench(MODELS / "tiny-q8_0.gguf", *load, "--regex", "[a-z ]{500}")
        self.assertEqual(answer["tokens_out"], 3 * 40)
        within = answer["within_grammar"]
        self.assertEqual(within["requests"], 3)
        self.assertEqual(within["tokens_out"], 3 * 40)
        self.assertGreater(within["between_tokens"]["median_seconds"], 0)
        short = self.bench(MODELS / "tiny-q8_0.gguf", *load, "--regex", "[a-z]")["within_grammar"]
        self.assertEqual(short["tokens_out"], 3)
        out, _ = self.voltpile("bench", "llm", MODELS / "tiny-q8_0.gguf", *load, "--json-object")
        self.assertIn("within the grammar", out)
        self.assertRegex(out, r"masks +take .* % more time between tokens")

    def test_load_is_interrupted(self):
        answer = self.bench(MODELS / "tiny-q8_0.gguf", "--requests", "4", "--prompt-lengths", "8", "--cpu",
                            "--generate-lengths", "60", "--interrupt-with", "300", "--output", "load.h5")
        self.assertEqual((answer["requests"], answer["largest_batch"]), (4, 5))
        interruption = answer["interruption"]
        self.assertGreater(interruption["first_token_seconds"], 0)
        with h5py.File(self.folder / "load.h5") as file:
            gaps = file["between_tokens"][:]
            ends = [first + numpy.cumsum(times) for first, times in zip(file["first_token"], gaps)]
        gaps, ends = numpy.concatenate(gaps), numpy.concatenate(ends)
        middles = ends - gaps / 2
        arrival = interruption["arrival_seconds"]
        for name, begin, end in (
            ("before", interruption["all_generate_seconds"], arrival),
            ("during", arrival, arrival + interruption["first_token_seconds"]),
        ):
            found = gaps[(middles > begin) & (middles <= end)]
            self.assertGreaterEqual(len(found), answer["requests"])  # a token of each at least
            self.assertAlmostEqual(numpy.median(found), interruption[f"between_tokens_{name}"]["median_seconds"])
            self.assertAlmostEqual(numpy.quantile(found, 0.99), interruption[f"between_tokens_{name}"]["p99_seconds"])

    def test_rejects_bad_input(self):
        model = MODELS / "tiny-q8_0.gguf"
        load = (model, "--requests", "4")
        shutil.copy(model, self.folder / "here.gguf")
        self.write("notes.h5", "not to be lost")
        with h5py.File(self.folder / "result.h5", "w") as file:
            file.attrs["software"] = "voltpile"
            file.attrs["fingerprint"] = "of a job"
        before = (self.folder / "result.h5").read_bytes()
        for arguments, says in (
            ((), "MODEL or a --shape"),
            ((model, "--shape", "tiny"), "MODEL or a --shape"),
            (("--shape", "llama-9"), "llama-9"),
            (("--shape", "tiny", "--quant", "q3"), "q3"),
            ((model, "--batch", "0"), "--batch"),
            ((model, "--adapters", "0"), "--adapters"),
            ((model, "--adapters", "65"), "--adapters"),
            ((model, "--adapter-rank", "4"), "--adapters"),
            ((model, "--adapters", "1", "--adapter-rank", "257"), "--adapter-rank"),
            ((model, "--adapters", "1", "--lora", "a=b"), "--lora"),
            ((model, "--lora", "a=nowhere"), "nowhere"),
            ((model, "--tensor", "3"), "3"),
            ((model, "--output", "nowhere/llm.h5"), "nowhere"),
            (("here.gguf", "--output", "./here.gguf"), "--output: ./here.gguf would replace here.gguf, which is needed"),
            (("here.gguf", "--requests", "4", "--output", "here.gguf"), "--output: here.gguf would replace here.gguf"),
            ((model, "--output", "notes.h5"), "--output: notes.h5 exists and was not written by voltpile bench llm"),
            ((model, "--output", "result.h5"), "--output: result.h5 exists and was not written by voltpile bench llm"),
            ((*load, "--output", "result.h5"), "--output: result.h5 exists and was not written by voltpile bench llm"),
            ((model, "--requests", "0"), "--requests"),
            ((model, "--rate", "3"), "--requests"),
            ((model, "--regex", "a"), "--requests"),
            ((*load, "--regex", "("), "'('"),
            ((*load, "--json-schema", "no.json"), "no.json"),
            ((*load, "--batch", "8"), "--batch"),
            ((*load, "--output", "nowhere/load.h5"), "nowhere"),
            ((*load, "--rate", "0"), "--rate: 0 is not a number from 0.001 to 1000000"),
            ((*load, "--rate", "-1"), "--rate: -1 is not a number from"),
            ((*load, "--rate", "nan"), "--rate: nan is not a number from"),
            ((*load, "--seed", "-1"), "--seed: -1 is not a whole number"),
            ((*load, "--prompt-lengths", "9:5"), "9:5"),
            ((*load, "--prompt-lengths", "0"), "--prompt-lengths"),
            ((*load, "--generate-lengths", "5:x"), "5:x"),
            ((*load, "--prompt-lengths", "500", "--generate-lengths", "13"), "sequences of up to 513 tokens exceed the model's context of 512"),
            ((*load, "--cache-tokens", "255"), "--cache-tokens: 255 are too few for one sequence of up to 256 tokens"),
            ((*load, "--interrupt-with", "512"), "513"),
            ((*load, "--interrupt-with", "30", "--sequences", "3"), "3 of 4"),
        ):
            with self.subTest(arguments=arguments):
                _, err = self.voltpile("bench", "llm", *arguments, expect=BAD_INPUT)
                self.assertIn(says, err)
        self.assertEqual((self.folder / "notes.h5").read_text(), "not to be lost")
        self.assertEqual((self.folder / "result.h5").read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
