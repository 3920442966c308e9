"""Jobs of the llm app: the text that transformers writes, on every cut and after interruptions, and errors."""

import json
import os
import random
import signal
import time
import unittest

import h5py
import numpy

from harness import BAD_INPUT, CANNOT_RUN, DONE, FAILED, PATIENCE, SOURCE, STOPPED, Case
from tiny_model import EXPECTED, MODELS, copy_with_large_weights, copy_with_nan

KILLS = int(os.environ.get("VOLTPILE_KILLS", "8"))  # 200 take a minute
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

# Synthetic weights in place of the files that shipped jobs expect, and machines that hold them.
SHIPPED = {
    "llama3_8b_q8_0": (["llama-3-8b", "q8_0"], ["t180", "t181_x3"]),
    "llama3_70b_q5_k_m": (["llama-3-70b", "q5_k_m"], ["t180", "t181_x3"]),
    "llama3_70b_f16_3_nodes": (["llama-3-70b", "f16"], ["t181_x3"]),
    "qwen2_5_7b_batch128": (["qwen-2.5-7b", "f16"], ["t180", "t181_x3"]),
}


class LlmJob(Case):
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
        import xarray

        self.write_mixed(5)
        self.voltpile("run", self.job, "--output", "a.h5")
        with xarray.open_dataset(self.folder / "a.h5", engine="h5netcdf") as data:
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


class Cuts(LlmJob):
    def test_same_text_on_every_split_and_by_two_replicas(self):
        self.write_mixed()
        self.voltpile("run", self.job, "--output", "a.h5")
        alone = self.rows()
        for ranks, tensor, pipeline, replicas in ((2, 2, 1, 1), (2, 1, 1, 2), (4, 2, 2, 1), (3, 1, 1, 2)):
            with self.subTest(tensor=tensor, pipeline=pipeline, replicas=replicas):
                self.voltpile("run", self.job, "--output", "b.h5", "--fresh", "--set", f"engine.tensor={tensor}", "--set",
                              f"engine.pipeline={pipeline}", "--set", f"engine.replicas={replicas}", ranks=ranks)
                self.assert_same(alone, self.rows("b.h5"))

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


    def test_int8_cache(self):
        self.write_mixed(6)
        self.voltpile("run", self.job, "--output", "a.h5", "--set", "engine.cache=int8")
        self.voltpile("run", self.job, "--output", "b.h5", "--set", "engine.cache=int8", "--set", "engine.sequences=1")
        self.assertEqual(self.rows(), self.rows("b.h5"))
        self.voltpile("run", self.job, "--output", "a.h5", expect=BAD_INPUT)  # another job

    def test_clamp(self):
        self.write_mixed(3)
        model = self.folder / "large"
        copy_with_large_weights(model, "model.layers.1.self_attn.v_proj.weight", 1e6)
        for clamp, reason in (("false", "error"), ("true", "length")):
            self.voltpile("run", self.job, "--fresh", "--output", "a.h5", "--set", f'model.path="{model}"', "--set", f"engine.clamp={clamp}")
            self.assertEqual({row[3] for row in self.rows()}, {reason})


class Interrupted(LlmJob):
    def setUp(self):
        super().setUp()
        self.write_mixed()
        self.voltpile("run", self.job, "--output", "a.h5")
        self.whole = self.rows()

    def go_on(self, ranks=None):
        self.voltpile("run", self.job, "--output", "b.h5", ranks=ranks)
        if ranks is None:
            self.assertEqual(self.rows("b.h5"), self.whole)
        else:
            self.assert_same(self.rows("b.h5"), self.whole)

    def test_by_signals(self):
        # (signal, ranks, tensor, pipeline); of these signals mpirun forwards only SIGUSR1
        for number, ranks, tensor, pipeline in ((signal.SIGINT, None, 1, 1), (signal.SIGTERM, None, 1, 1),
                                                (signal.SIGUSR1, 2, 1, 1), (signal.SIGUSR1, 4, 2, 2)):
            with self.subTest(signal=number, ranks=ranks):
                (self.folder / "b.h5").unlink(missing_ok=True)
                process = self.start("run", self.job, "--output", "b.h5", "--set", "run.range_seconds=0.001", "--set",
                                     f"engine.tensor={tensor}", "--set", f"engine.pipeline={pipeline}", ranks=ranks)
                self.wait_for_parts(self.folder / "b.h5", 2)
                process.send_signal(number)
                out, _ = self.finish(process, expect=STOPPED)
                self.assertIn("run the same command again", out)
                self.go_on(ranks)

    def test_by_kills(self):
        generator = random.Random(5)
        longest = 3.0
        kills = ended = 0
        while kills < KILLS:
            process = self.start("run", self.job, "--output", "b.h5")
            try:
                process.communicate(timeout=generator.uniform(0.05, longest))
                ended += 1
                longest = max(0.3, longest * 0.8)  # otherwise most kills would come too late
                self.assertEqual(self.rows("b.h5"), self.whole)
                (self.folder / "b.h5").unlink()
                continue
            except Exception as error:
                if type(error).__name__ != "TimeoutExpired":
                    raise
            before = {path.name: path.read_bytes() for path in self.parts(self.folder / "b.h5")}
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += 1
            after = {path.name for path in self.parts(self.folder / "b.h5")}
            if not (self.folder / "b.h5").exists():
                self.assertLessEqual(set(before), after)  # no committed row may be lost
        self.go_on()

    def test_time_limit_keeps_finished_rows(self):
        # The limit grows, because a busy machine may not answer a prompt in any fixed time.
        limit, stopped = 0.05, 0
        while limit < 60:
            process = self.start("run", self.job, "--output", "b.h5", "--set", f"run.time_limit_s={limit}", "--set",
                                 "run.range_seconds=0.01", "--set", "run.range_points=8")
            process.communicate(timeout=120 * PATIENCE)
            self.assertIn(process.returncode, (DONE, STOPPED))
            if process.returncode == DONE:
                break
            limit *= 1.3
            stopped += 1
        self.assertGreater(stopped, 0)
        self.assertEqual(self.rows("b.h5"), self.whole)

    def test_a_full_disk(self):
        for ranks in (None, 2):  # two ranks share the layers
            with self.subTest(ranks=ranks):
                (self.folder / "b.h5").unlink(missing_ok=True)
                _, err = self.voltpile("run", self.job, "--output", "b.h5", ranks=ranks, file_limit=3000, expect=FAILED)
                self.assertIn("b.h5", err)
                self.go_on(ranks)


class Refused(LlmJob):
    def refused(self, *arguments, expect=BAD_INPUT, **options):
        out, err = self.voltpile("run", self.job, "--output", "b.h5", *arguments, expect=expect, **options)
        self.assertEqual(out, "")
        return err

    def test_names_invalid_lines(self):
        self.write_prompts([{"prompt": "And"}, "{", {"prompt": "And", "max_token": 3}, {"prompt": "And " * 200},
                    {"messages": [{"role": "user", "content": "Hello"}]}, {"prompt": "The", "max_tokens": 127}])
        for ranks in (None, 2):
            err = self.refused(ranks=ranks)
            self.assertEqual(err.splitlines()[:2], ["prompts.jsonl:2: not valid JSON at byte 2",
                                                    'prompts.jsonl:3: unknown field "max_token"; did you mean max_tokens?'])
            self.assertRegex(err, r"prompts\.jsonl:4: a prompt of \d+ tokens and max_tokens = 24 exceed the context of 128")
            self.assertIn("prompts.jsonl:5: the model has no chat template", err)
            self.assertRegex(err, r"prompts\.jsonl:6: a prompt of 2 tokens and max_tokens = 127 exceed the context of 128")
            self.assertFalse((self.folder / "b.h5.parts").exists())

    def test_skipped_lines_have_an_error(self):
        self.write_prompts([{"prompt": "And it"}, "{", {"prompt": "The", "id": "x", "top_p": 2}])
        _, err = self.voltpile("run", self.job, "--output", "a.h5", "--set", "prompts.on_error=skip")
        self.assertRegex(err, r"skips 2 of 3 prompts .*; the first is \S*prompts\.jsonl:2: not valid JSON at byte 2")
        with h5py.File(self.folder / "a.h5") as file:
            self.assertEqual(file.attrs["skippedPrompts"], "2")
        rows = self.rows()
        self.assertEqual([row[3] for row in rows], ["length", "error", "error"])
        self.assertEqual([row[4] for row in rows],
                         ["", "not valid JSON at byte 2", '"top_p" must be a number from 0 to 1'])
        self.assertEqual(rows[1][:3], ("", [], []))

    def test_reports_where_sums_became_infinite(self):
        for tensor, says in (("model.layers.2.mlp.down_proj.weight", "layer 2: after its feed-forward part the hidden state is not finite"),
                             ("model.norm.weight", "the logits of the model are not finite numbers")):
            copy_with_nan(self.folder / tensor, tensor)
            self.write_prompts([{"prompt": "And"}, {"prompt": "Then"}])
            for ranks, tensor_ranks in ((1, 1), (4, 2)):
                with self.subTest(tensor=tensor, ranks=ranks):
                    self.voltpile("run", self.job, "--output", "a.h5", "--fresh", "--set", f"model.path={self.folder / tensor}",
                                  "--set", f"engine.tensor={tensor_ranks}", "--set", f"engine.pipeline={ranks // tensor_ranks}", ranks=ranks)
                    rows = self.rows()
                    self.assertEqual([row[1:4] for row in rows], 2 * [([], [], "error")])
                    self.assertEqual([row[4].partition(" (rank")[0] for row in rows], 2 * [says])

    def test_rejects_a_changed_prompt_file(self):
        self.write_mixed()
        process = self.start("run", self.job, "--output", "b.h5", "--set", "run.range_seconds=0.001")
        self.wait_for_parts(self.folder / "b.h5", 1)
        process.send_signal(signal.SIGTERM)
        self.finish(process, expect=None)
        self.prompts.write_text(self.prompts.read_text() + '{"prompt": "one more"}\n')
        err = self.refused()
        self.assertRegex(err, "prompts.jsonl is not what it was")
        self.assertIn("--fresh", err)
        self.voltpile("run", self.job, "--output", "b.h5", "--fresh")
        self.prompts.write_text('{"prompt": "another"}\n')
        self.assertIn("prompts.jsonl is not what it was", self.refused())

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

    def test_errors_in_job_files(self):
        self.write_prompts([{"prompt": "And"}])
        for arguments, words in (
                (["generate.max_tokens=128"], "leaves no room for a prompt in engine.context = 128"),
                (["engine.cache_tokens=64"], "engine.cache_tokens = 64 is too small for one sequence of 128 tokens"),
                (["model.synthetic=tny"], "did you mean tiny?"),
                (["model.path=''"], "model.path is missing"),
                (["generate.top_n=21"], "generate.top_n"),
                (["prompts.files=[]"], "prompts.files is empty"),
                (["prompts.files=['gone.txt']"], "cannot open gone.txt: No such file or directory"),
                (["model.path=gone.gguf"], "gone.gguf"),
                (["sampling.top_p=2"], "sampling.top_p")):
            with self.subTest(arguments=arguments):
                self.assertIn(words, self.refused(*[word for each in arguments for word in ("--set", each)]))
        self.job.write_text(self.job.read_text() + '[[sweep]]\nparameter = "sampling.seed"\nfrom = 0\nto = 9\ncount = 9\n')
        self.assertRegex(self.refused(), r"job.toml:\d+: \[\[sweep\]\]: the app llm has no sweep; its points come from other keys")

    def test_jsonl_never_replaces_files_of_the_job(self):
        self.write_prompts([{"prompt": "And"}])
        os.link(self.prompts, self.folder / "other_name.jsonl")
        os.symlink(self.folder, self.folder / "round_about")
        for lines, needed in (("b.h5", "b.h5"), ("round_about/b.h5", "b.h5"), ("./prompts.jsonl", "prompts.jsonl"),
                              ("other_name.jsonl", "prompts.jsonl"), ("job.toml", str(self.job))):
            with self.subTest(lines=lines):
                self.assertEqual(self.refused("--jsonl", lines),
                                 f"--jsonl: {lines} would replace {needed}, which is needed\n")

    def test_rejects_more_tensor_ranks_than_exist(self):
        self.write_prompts([{"prompt": "And"}])
        err = self.refused("--set", "engine.tensor=4", ranks=2, expect=CANNOT_RUN)
        self.assertRegex(err.splitlines()[0], "job.toml: engine.tensor = 4: no node .* has so many ranks")


class Plans(LlmJob):
    def test_every_shipped_job_plans(self):
        self.assertEqual(set(SHIPPED) | {"tiny_demo"}, {path.stem for path in JOBS.glob("*.toml")})
        for name, ((shape, mixture), clusters) in SHIPPED.items():
            for cluster in clusters:
                with self.subTest(job=name, cluster=cluster):
                    out, _ = self.voltpile("plan", JOBS / f"{name}.toml", "--cluster", SOURCE / f"data/clusters/{cluster}.toml",
                                           "--set", f"model.synthetic={shape}", "--set",
                                           f"model.format={mixture}", "--set",
                                           f"prompts.files=['{JOBS}/prompts/questions.jsonl']")
                    self.assertIn("teams", out)
                    self.assertIn("GPU memory", out)

    def test_missing_model_says_where_it_looked(self):
        for ranks in (None, 2):
            with self.subTest(ranks=ranks):
                cluster = ("--cluster", SOURCE / "data/clusters/t180.toml") if ranks is None else ()
                _, err = self.voltpile("plan", JOBS / "llama3_8b_q8_0.toml", *cluster, ranks=ranks, expect=BAD_INPUT)
                self.assertIn(f"does not exist in {self.folder};", err)
                self.assertIn("--set model.synthetic=", err)

    def test_reports_too_little_memory(self):
        _, err = self.voltpile("plan", JOBS / "llama3_70b_f16_3_nodes.toml", "--cluster", SOURCE / "data/clusters/t180.toml",
                               "--set", "model.synthetic=llama-3-70b", "--set", "model.format=f16",
                               "--set", f"prompts.files=['{JOBS}/prompts/questions.jsonl']", expect=CANNOT_RUN)
        self.assertRegex(err, "do not fit|does not fit")


if __name__ == "__main__":
    unittest.main()
