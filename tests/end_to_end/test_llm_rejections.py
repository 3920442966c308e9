"""Jobs of the llm app that cannot be run or planned, and prompts that cannot be answered: one clear message each."""

import os
import signal
import unittest

import h5py

from harness import BAD_INPUT, CANNOT_RUN, SOURCE
from llm_case import JOBS, LlmJob
from tiny_model import copy_with_nan

# Synthetic weights in place of the files that shipped jobs expect, and machines that hold them.
SHIPPED = {
    "llama3_8b_q8_0": (["llama-3-8b", "q8_0"], ["t180", "t181_x3"]),
    "llama3_70b_q5_k_m": (["llama-3-70b", "q5_k_m"], ["t180", "t181_x3"]),
    "llama3_70b_f16_3_nodes": (["llama-3-70b", "f16"], ["t181_x3"]),
    "qwen2_5_7b_batch128": (["qwen-2.5-7b", "f16"], ["t180", "t181_x3"]),
}


class Rejected(LlmJob):
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
        process = self.start_with_parts(1)
        process.send_signal(signal.SIGTERM)
        self.finish(process, expect=None)
        self.prompts.write_text(self.prompts.read_text() + '{"prompt": "one more"}\n')
        err = self.refused()
        self.assertRegex(err, "prompts.jsonl is not what it was")
        self.assertIn("--fresh", err)
        self.voltpile("run", self.job, "--output", "b.h5", "--fresh")
        self.prompts.write_text('{"prompt": "another"}\n')
        self.assertIn("prompts.jsonl is not what it was", self.refused())

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
        self.assertRegex(self.refused(), r"job.toml:\d+: \[\[sweep\]\]: the app llm has no sweep\n")

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
        others = {path.stem for path in JOBS.glob("serve_*.toml")} | {"tiny_demo"}
        self.assertEqual(set(SHIPPED) | others, {path.stem for path in JOBS.glob("*.toml")})
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
