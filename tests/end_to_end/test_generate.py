"""voltpile generate with the tiny model: the same text as transformers, and rejected arguments."""

import json
import unittest

from harness import BAD_INPUT, FAILED, Case
from tiny_model import EXPECTED, FILES, MODELS, copy_with_large_weights


class Generate(Case):
    def test_every_file_gives_the_text_of_transformers(self):
        for name, path in FILES.items():
            wanted = EXPECTED[name]["greedy"][0]
            count = str(len(wanted["ids"]))
            with self.subTest(file=name):
                out, err = self.voltpile("generate", MODELS / path, wanted["prompt"], "--max-tokens", count)
                self.assertEqual(out, wanted["prompt"] + wanted["text"] + "\n")
                self.assertRegex(err, r"prompt \d+ tokens, \d+ tok/s; generated 32 tokens, [\d.]+ tok/s")

    def test_json_has_tokens_and_rates(self):
        wanted = EXPECTED["q8_0"]["greedy"][1]
        out, _ = self.voltpile("generate", MODELS / "tiny-q8_0.gguf", wanted["prompt"], "--json", "-n", "32")
        answer = json.loads(out)
        self.assertEqual(answer["tokens"], wanted["ids"])
        self.assertEqual(answer["text"], wanted["text"])
        self.assertEqual(answer["finish_reason"], "length")
        self.assertEqual(answer["prompt_tokens"], len(wanted["prompt_ids"]))
        self.assertEqual(len(answer["log_probabilities"]), 32)
        self.assertTrue(all(p <= 0 for p in answer["log_probabilities"]))

    def test_seed_decides_the_text(self):
        def text(*options):
            return self.voltpile("generate", MODELS / "tiny-q8_0.gguf", "And", "-n", "40", "--temperature", "1", *options)[0]

        self.assertEqual(text("--seed", "7", "--top-k", "50"), text("--seed", "7", "--top-k", "50"))
        self.assertNotEqual(text("--seed", "7"), text("--seed", "8"))

    def test_ends_before_a_stop_string(self):
        wanted = EXPECTED["q8_0"]["greedy"][0]
        stop = wanted["text"][5:8]
        text = wanted["text"][:wanted["text"].index(stop)]
        arguments = ("generate", MODELS / FILES["q8_0"], wanted["prompt"], "--stop", "no such text", "--stop", stop)
        self.assertEqual(self.voltpile(*arguments)[0], wanted["prompt"] + text + "\n")
        answer = json.loads(self.voltpile(*arguments, "--json", "--top-n", "2")[0])
        self.assertEqual(answer["text"], text)
        self.assertEqual(answer["finish_reason"], "stop")
        self.assertEqual([top[0] for top in answer["top_tokens"]], answer["tokens"])  # greedy
        self.assertEqual([top[0] for top in answer["top_log_probabilities"]], answer["log_probabilities"])

    def test_bias_excludes_a_token(self):
        wanted = EXPECTED["q8_0"]["greedy"][0]
        banned = wanted["ids"][0]
        out, _ = self.voltpile("generate", MODELS / FILES["q8_0"], wanted["prompt"], "-n", "8", "--json",
                               "--logit-bias", f"{banned}=-100")
        self.assertNotIn(banned, json.loads(out)["tokens"])

    def test_reports_a_full_context(self):
        _, err = self.voltpile("generate", MODELS / "tiny-q8_0.gguf", "And", "--context", "4")
        self.assertIn("the text ends here because the context of 4 tokens is full", err)
        _, err = self.voltpile("generate", MODELS / "tiny-q8_0.gguf", "And", "-n", "520", "--context", "600")
        self.assertEqual(err.count("the model supports 512 tokens of context, not 52"), 1, err)

    def test_clamp_replaces_overflow(self):
        model = self.folder / "large"
        copy_with_large_weights(model, "model.layers.1.self_attn.v_proj.weight", 1e6)
        _, err = self.voltpile("generate", model, "And", "-n", "8", expect=FAILED)
        self.assertIn("layer 1: after its attention the hidden state is not finite", err)
        self.assertIn("--clamp on", err)
        _, err = self.voltpile("generate", model, "And", "-n", "8", "--clamp", "on")
        self.assertIn("generated 8 tokens", err)

        wanted = EXPECTED["f16"]["greedy"][0]  # without overflow, --clamp changes nothing
        out, _ = self.voltpile("generate", MODELS / FILES["f16"], wanted["prompt"], "-n", str(len(wanted["ids"])), "--clamp", "on")
        self.assertEqual(out, wanted["prompt"] + wanted["text"] + "\n")

    def test_rejects_wrong_arguments(self):
        model = MODELS / "tiny-q8_0.gguf"
        cases = (
            (("missing.gguf", "And"), "missing.gguf"),
            ((model, "and " * 600), "leaves no room for more in a context of 512"),
            ((model, "and " * 30, "--context", "20"), "leaves no room for more in a context of 20"),
            ((model, "And \udcff there"), "UTF-8"),  # the byte 0xff
            ((model, ""), "the prompt is empty"),
            ((model, "And", "--temperature", "-1"), "--temperature"),
            ((model, "And", "--top-p", "2"), "--top-p"),
            ((model, "And", "--repetition-penalty", "nan"), "--repetition-penalty: nan is not a number from"),
            ((model, "And", "-n", "0"), "--max-tokens"),
            ((model, "And", "--seed", "-1"), "--seed: -1 is not a whole number from 0 to 2^64 - 1"),
            ((model, "And", "--seed", "18446744073709551616"), "--seed: 18446744073709551616 is not a whole number"),
            ((model, "And", "--stop", ""), "--stop: the text is empty"),
            ((model, "And", "--logit-bias", "9"), "--logit-bias: 9 is not the number of a token, =, and a number from -100 to 100"),
            ((model, "And", "--logit-bias", "9=nan"), "--logit-bias: 9=nan is not"),
            ((model, "And", "--logit-bias", "99999=1"), "logit_bias has the token 99999, but the model's tokens are 0 to"),
            ((model, "And", "--top-n", "2"), "--top-n requires --json"),
            ((model,), "TEXT"),
        )
        for arguments, says in cases:
            with self.subTest(arguments=arguments[1:]):
                _, err = self.voltpile("generate", *arguments, expect=BAD_INPUT)
                self.assertIn(says, err)


if __name__ == "__main__":
    unittest.main()
