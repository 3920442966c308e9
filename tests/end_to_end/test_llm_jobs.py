"""Jobs of the llm app: the text that transformers writes, the same on every split."""

import json
import re
import unittest

import h5py
import numpy

from harness import BAD_INPUT, CANNOT_RUN
from harmony_model import make_harmony_model, thinking_biases
from llm_case import GREEDY, JOBS, LlmJob
from tiny_model import MODELS, copy_with_large_weights


class Results(LlmJob):
    def test_text_and_tokens_equal_those_of_transformers(self):
        self.write_prompts({"prompt": each["prompt"], "max_tokens": len(each["ids"])} for each in GREEDY)
        self.voltpile("run", self.job, "--output", "a.h5", "--jsonl", "a.jsonl")
        rows = self.rows()
        lines = [json.loads(line) for line in (self.folder / "a.jsonl").read_text().splitlines()]
        self.assertEqual(len(lines), len(GREEDY))
        for i, wanted in enumerate(GREEDY):
            self.assertEqual(rows[i][1], wanted["ids"])
            self.assertEqual(rows[i][0], wanted["text"])
            self.assertEqual(rows[i][3], "length")
            self.assertEqual((lines[i]["prompt"], lines[i]["text"], lines[i]["tokens"], lines[i]["finish_reason"],
                              lines[i]["prompt_text"]), (i, wanted["text"], wanted["ids"], "length", wanted["prompt"]))
        with h5py.File(self.folder / "a.h5") as file:
            self.assertEqual(list(file["prompt_tokens"]), [len(each["prompt_ids"]) for each in GREEDY])
            self.assertRegex(file.attrs["modelFingerprint"], "^[0-9a-f]{32}$")
            self.assertEqual(list(file.attrs["inputs"]), [str(MODELS / "tiny-q8_0.gguf"), "prompts.jsonl"])
            self.assertEqual(file["source"].asstr()[1], "prompts.jsonl:2")
        out, _ = self.voltpile("show", "a.h5")
        self.assertIn("list of int32", out)
        _, err = self.voltpile("plot", "a.h5", expect=BAD_INPUT)
        self.assertIn("text has texts of variable length", err)

    def test_xarray_opens_the_result(self):
        self.write_mixed(5)
        self.voltpile("run", self.job, "--output", "a.h5")
        with self.open_dataset("a.h5") as data:
            self.assertEqual(data.text.dims, ("prompt",))
            self.assertEqual([list(each) for each in data.tokens.values], [row[1] for row in self.rows()])

    def test_stop_strings_and_lengths_of_single_lines(self):
        wanted = GREEDY[0]
        stop = wanted["text"][10:14]
        self.write_prompts([{"prompt": wanted["prompt"], "stop": stop, "max_tokens": len(wanted["ids"])},
                    {"prompt": wanted["prompt"], "max_tokens": 1}])
        self.voltpile("run", self.job, "--output", "a.h5")
        rows = self.rows()
        self.assertEqual(rows[0][0], wanted["text"][:wanted["text"].index(stop)])
        self.assertEqual(rows[0][3], "stop")
        self.assertEqual(rows[1][1], wanted["ids"][:1])

    def test_answers_can_be_prompts_again(self):
        self.write_prompts([{"prompt": "abc", "id": "plain"},
                            {"messages": [{"role": "user", "content": "def"}], "id": "chat"}])
        run = ("run", self.job, "--set", "model.synthetic=tiny", "--output")
        self.voltpile(*run, "a.h5", "--jsonl", "a.jsonl")
        plain, chat = (json.loads(line) for line in (self.folder / "a.jsonl").read_text().splitlines())
        self.assertNotIn("messages", plain)
        self.assertEqual([each["role"] for each in chat["messages"]], ["user", "assistant"])
        self.assertEqual([each["content"] for each in chat["messages"]], ["def", chat["text"]])
        self.assertEqual((plain["prompt"], chat["prompt"]), (0, 1))
        question = {"role": "user", "content": "ghi"}
        self.write_prompts([{"id": plain["id"], "prompt": plain["prompt_text"] + plain["text"]},
                            {"id": chat["id"], "messages": chat["messages"] + [question]}])
        self.voltpile(*run, "b.h5", "--set", "engine.context=512")
        self.assertEqual([len(row[1]) for row in self.rows("b.h5")], [24, 24])

    def test_shipped_demo(self):
        self.voltpile("run", JOBS / "tiny_demo.toml", "--output", "a.h5", "--set", f"model.path={MODELS}/tiny-q8_0.gguf",
                      "--set", f"prompts.files=['{JOBS}/prompts/verses.jsonl']")
        with h5py.File(self.folder / "a.h5") as file:
            self.assertEqual(file["id"].asstr()[0], "pass")
            self.assertTrue(all(len(text) > 0 for text in file["text"].asstr()[...]))
            self.assertNotEqual(file["text"].asstr()[4], file["text"].asstr()[5])  # two seeds

    def test_synthetic_weights_need_no_file(self):
        self.write_prompts([{"prompt": "abc"}, {"messages": [{"role": "user", "content": "def"}]}])
        self.voltpile("run", self.job, "--output", "a.h5", "--set", "model.synthetic=tiny")
        self.assertEqual([len(row[1]) for row in self.rows()], [24, 24])

    def test_channels_of_gpt_oss(self):
        ids = make_harmony_model(self.folder / "harmony")
        question = {"messages": [{"role": "user", "content": "Well?"}]}
        thinking = {**question, "logit_bias": thinking_biases(ids), "presence_penalty": 100}
        answers = {**question, "logit_bias": {str(ids["<|end|>"]): 100}, "regex": "[a-c]{3}", "max_tokens": 100}
        self.write_prompts([thinking, answers, {**question, "logit_bias": {str(ids["<|return|>"]): 100}}])
        self.voltpile("run", self.job, "--output", "a.h5", "--set", f"model.path={self.folder / 'harmony'}")
        rows = self.rows()
        self.assertEqual(rows[0][1][:3], [ids["<|channel|>"], ids["analysis"], ids["<|message|>"]])
        self.assertRegex(rows[0][0], r"(?s)^<think>[^<|]+(</think>|$)")
        self.assertRegex(rows[1][0], "^[a-c]{3}$", rows[1])  # the final channel alone
        self.assertEqual((rows[2][0], rows[2][3]), ("", "end"))

    def test_the_most_probable_tokens(self):
        self.write_prompts([{"prompt": GREEDY[0]["prompt"], "temperature": 0.9 * i} for i in range(2)])
        for ranks, cut in ((None, []), (2, ["--set", "engine.pipeline=2"])):
            with self.subTest(ranks=ranks):
                self.voltpile("run", self.job, "--output", "top.h5", "--fresh", "--set", "generate.top_n=5", *cut,
                              ranks=ranks)
                with h5py.File(self.folder / "top.h5") as file:
                    for row in range(2):
                        tokens, log_p = file["tokens"][row], file["log_probability"][row]
                        top = file["top_tokens"][row].reshape(-1, 5)
                        top_log_p = file["top_log_probability"][row].reshape(-1, 5)
                        self.assertEqual(len(top), len(tokens))
                        self.assertTrue((numpy.diff(top_log_p) <= 0).all())
                        self.assertLess(numpy.exp(top_log_p.astype(float)).sum(axis=1).max(), 1 + 1e-5)  # rounding
                        among = top == tokens[:, None]
                        if row == 0:  # greedy sampling draws the first
                            self.assertTrue(among[:, 0].all())
                        at, column = numpy.nonzero(among)
                        self.assertGreater(len(at), len(tokens) / 2)
                        # Two kernels sum the same logarithm.
                        numpy.testing.assert_allclose(top_log_p[at, column], log_p[at], atol=1e-5)


class Splits(LlmJob):
    def test_same_text_on_every_split_and_by_two_replicas(self):
        self.write_mixed()
        self.voltpile("run", self.job, "--output", "a.h5")
        alone = self.rows()
        for ranks, tensor, pipeline, replicas in ((2, 2, 1, 1), (2, 1, 1, 2), (4, 2, 2, 1), (3, 1, 1, 2)):
            with self.subTest(tensor=tensor, pipeline=pipeline, replicas=replicas):
                self.voltpile("run", self.job, "--output", "b.h5", "--fresh", "--set", f"engine.tensor={tensor}", "--set",
                              f"engine.pipeline={pipeline}", "--set", f"engine.replicas={replicas}", ranks=ranks)
                self.assert_same(alone, self.rows("b.h5"))

    def test_ranks_of_a_team_name_their_leader(self):
        self.write_mixed()
        out, _ = self.voltpile("run", self.job, "--set", "engine.pipeline=2", ranks=3)
        self.assertEqual([line.split()[-3:] for line in out.splitlines() if line.endswith("with rank 0")], [["with", "rank", "0"]], out)
        self.assertEqual(len(re.findall(r"^ +[02] .* %$", out, re.M)), 2, out)

    def test_complete_job_is_complete_on_any_machine(self):
        self.write_mixed(3)
        self.job.write_text(self.job.read_text().replace("[engine]", "[engine]\ntensor = 2\npipeline = 2"))
        self.voltpile("run", self.job, "--output", "a.h5", ranks=4)
        written = (self.folder / "a.h5").read_bytes()
        for ranks in (4, 2, None):
            with self.subTest(ranks=ranks):
                out, err = self.voltpile("run", self.job, "--output", "a.h5", "--jsonl", "a.jsonl", ranks=ranks)
                self.assertEqual(out, "a.h5 is complete already; --fresh computes it again\nlines: a.jsonl\n")
                self.assertEqual(err, "")
        self.assertEqual((self.folder / "a.h5").read_bytes(), written)
        for arguments in (("a.h5", "--fresh"), ("b.h5",)):
            _, err = self.voltpile("run", self.job, "--output", *arguments, expect=CANNOT_RUN)
            self.assertIn("engine.tensor = 2: no node", err)
        self.assertEqual((self.folder / "a.h5").read_bytes(), written)
        self.assertEqual(list(self.folder.glob("*.parts")), [])

    def test_one_at_a_time_equals_all_at_once(self):
        self.write_mixed()
        self.voltpile("run", self.job, "--output", "a.h5")
        self.voltpile("run", self.job, "--output", "b.h5", "--set", "engine.sequences=1")
        self.voltpile("run", self.job, "--output", "c.h5", "--set", "engine.sequences=24", "--set", "engine.cache_tokens=256")
        for other in ("b.h5", "c.h5"):
            self.assertEqual([row[:2] for row in self.rows()], [row[:2] for row in self.rows(other)])

    def test_quantized_caches(self):
        self.write_mixed(6)
        for cache in ("int8", "int4"):
            one, other = f"{cache}.h5", f"{cache}-one-at-a-time.h5"
            self.voltpile("run", self.job, "--output", one, "--set", f"engine.cache={cache}")
            self.voltpile("run", self.job, "--output", other, "--set", f"engine.cache={cache}", "--set", "engine.sequences=1")
            self.assertEqual(self.rows(one), self.rows(other))
            self.voltpile("run", self.job, "--output", one, expect=BAD_INPUT)  # another job
        _, err = self.voltpile("run", self.job, "--output", "bad.h5", "--set", "engine.cache=int2", expect=BAD_INPUT)
        self.assertIn("int2", err)
        self.assertIn("fp16, int8, int4", err)

    def test_clamp(self):
        self.write_mixed(3)
        model = self.folder / "large"
        copy_with_large_weights(model, "model.layers.1.self_attn.v_proj.weight", 1e6)
        for clamp, reason in (("false", "error"), ("true", "length")):
            self.voltpile("run", self.job, "--fresh", "--output", "a.h5", "--set", f'model.path="{model}"', "--set", f"engine.clamp={clamp}")
            self.assertEqual({row[3] for row in self.rows()}, {reason})

if __name__ == "__main__":
    unittest.main()
