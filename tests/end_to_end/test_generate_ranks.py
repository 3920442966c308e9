"""voltpile generate over several ranks: the same text on every cut, errors, and no process left running."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import unittest

from harness import BAD_INPUT, CANNOT_RUN, ENVIRONMENT, FAILED, MPIRUN, PATIENCE, VOLTPILE, Case
from tiny_model import EXPECTED, FILES, MODELS, copy_too_large, copy_with_nan, room_per_rank

# (ranks, tensor, pipeline); PP3 splits the 4 layers unevenly
CUTS = ((2, 2, 1), (4, 4, 1), (4, 2, 2), (3, 1, 3))


class GenerateOnRanks(Case):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "tiny.gguf"  # a name that only processes of this test have in their arguments
        self.model.symlink_to(MODELS / "tiny-q8_0.gguf")
        self.addCleanup(self.assert_all_gone)

    def processes(self):
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().split(b"\0")
            except OSError:
                continue
            if os.path.basename(words[0]) == b"voltpile" and any(str(self.folder).encode() in w for w in words):
                found.append(int(path.parent.name))
        return found

    def assert_all_gone(self):
        deadline = time.monotonic() + 60 * PATIENCE
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.processes(), [])

    def generate(self, *arguments, ranks, **options):
        return self.voltpile("generate", *arguments, "--cpu", ranks=ranks, **options)

    def test_same_text_on_every_cut(self):
        wanted = EXPECTED["q8_0"]["greedy"][0]
        for ranks, tensor, pipeline in CUTS:
            with self.subTest(tensor=tensor, pipeline=pipeline):
                out, err = self.generate(self.model, wanted["prompt"], "-n", str(len(wanted["ids"])), "--tensor", str(tensor),
                                         "--pipeline", str(pipeline), ranks=ranks)
                self.assertEqual(out, wanted["prompt"] + wanted["text"] + "\n")
                self.assertEqual(err.count("tok/s;"), 1, err)
                self.assertIn(f"TP{tensor} x PP{pipeline}", err)

    def test_prompts_cut_by_tokens(self):
        model = MODELS / "tiny-f16.gguf"
        prompt = EXPECTED["f16"]["greedy"][0]["prompt"] * 80  # 401 tokens; two ranks cut 256

        def answer(*cut, ranks, tokens):
            return json.loads(self.generate(model, prompt, "-n", str(tokens), "--json", "--top-n", "5", *cut, ranks=ranks)[0])

        cut = ("--tensor", "2", "--context-parallel", "on")
        first, wanted = answer(*cut, ranks=2, tokens=1), answer(ranks=1, tokens=1)
        for key in ("top_tokens", "top_log_probabilities"):
            self.assertEqual(first[key], wanted[key])  # the same bits: no sum is divided
        self.assertEqual(answer(*cut, ranks=2, tokens=20)["tokens"], answer(ranks=1, tokens=20)["tokens"])
        _, err = self.generate(model, prompt, "-n", "2", *cut, ranks=2)
        self.assertIn("TP2 x PP1; prompts cut by tokens", err)
        _, err = self.generate(model, "And", "-n", "2", *cut, ranks=2)
        self.assertEqual(err.count("prompts are not cut by tokens: 2 ranks need passes of 256 tokens, but all sequences together have at most"), 1, err)

    def test_every_file_format_on_two_ranks(self):
        for name, path in FILES.items():
            with self.subTest(file=name):
                wanted = EXPECTED[name]["greedy"][1]
                out, _ = self.generate(MODELS / path, wanted["prompt"], "-n", "8", "--json", ranks=2)
                self.assertEqual(json.loads(out)["tokens"], wanted["ids"][:8])

    def test_plan_chooses_the_split(self):
        wanted = EXPECTED["q8_0"]["greedy"][1]
        _, err = self.generate(self.model, wanted["prompt"], "-n", "4", ranks=3)  # 3 does not divide 8 heads
        self.assertIn("TP2 x PP1", err)
        self.assertEqual(err.count("1 rank is in no team: 2"), 1, err)
        _, err = self.generate(self.model, wanted["prompt"], "-n", "4", "--ranks-per-node", "2", "--pipeline", "2", ranks=4)
        self.assertIn("TP2 x PP2", err)

    def test_rates_come_after_the_text(self):
        wanted = EXPECTED["q8_0"]["greedy"][0]
        for _ in range(5):  # mpirun forwards stdout and stderr separately
            done = subprocess.run(
                self.command("generate", self.model, wanted["prompt"], "-n", str(len(wanted["ids"])), "--cpu", ranks=2),
                env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60 * PATIENCE)
            self.assertRegex(done.stdout, "^" + re.escape(wanted["prompt"] + wanted["text"]) + r"\nprompt \d+ tokens, .*\n$")

    def test_same_draws_with_pipeline_stages(self):
        def text(ranks, *cut):
            return self.generate(self.model, "And", "-n", "24", "--temperature", "0.7", "--seed", "3", *cut, ranks=ranks)[0]

        self.assertEqual(text(2, "--tensor", "1", "--pipeline", "2"), text(1))  # stages do not change sums

    def refuse(self, *arguments, says, expect=BAD_INPUT, ranks=2):
        out, err = self.generate(*arguments, ranks=ranks, expect=expect, timeout=60)
        self.assertEqual(out, "")
        self.assertEqual(err.count(says), 1, err)

    def test_bad_input(self):
        self.refuse(self.folder / "missing.gguf", "And", says="does not exist")
        self.refuse(self.model, "and " * 600, says="leaves no room for more in a context of 512")  # the others: test_generate
        self.refuse(self.model, "And", "--tensor", "3", says="3 does not divide the 8 heads; 1, 2, 4, 8 would do")
        self.refuse(MODELS / "tiny-q5_k_m.gguf", "And " + str(self.folder), "--tensor", "4", says="3 blocks of 256; 1, 2 would do")
        self.refuse(self.model, "And", "--pipeline", "5", says="the model has 4 layers, so at most 4 stages")
        self.refuse(self.model, "And", "--tensor", "4", says="--tensor 4: no node (and NVLink island) has so many ranks", expect=CANNOT_RUN)
        self.refuse(self.model, "And", "--tensor", "2", "--pipeline", "2", says="--tensor 2, --pipeline 2, 1 replica do not fit 2 ranks: --tensor 2 makes 1 group;", expect=CANNOT_RUN)

    def test_refuses_to_cut_prompts_by_tokens(self):
        self.refuse(self.model, "And", "--context-parallel", "on", "--batch-invariant", "on",
                    says="--context-parallel on does not go with --batch-invariant on")
        _, err = self.generate(self.model, "And", "-n", "4", "--context-parallel", "on", ranks=1)
        self.assertEqual(err.count("prompts are not cut by tokens: no ranks share layers"), 1, err)

    def test_rejects_a_model_that_does_not_fit(self):
        def refuse(model):
            _, err = self.generate(model, "And", "-n", "4", ranks=2, expect=CANNOT_RUN, timeout=60)
            return err

        large = self.folder / "large"
        # Each of two ranks has room for a quarter of it and would need half. On eight ranks it would fit.
        copy_too_large(large, 4 * room_per_rank(refuse, self.folder))
        err = refuse(large)
        self.assertEqual(err.count("the model does not fit: over 2 ranks (TP2 x PP1)"), 1, err)
        self.assertRegex(err, r"it would fit on \d+ ranks with this much each")

    def test_reports_logits_that_are_not_finite(self):
        for tensor, says in (("model.layers.2.mlp.down_proj.weight", "layer 2: after its feed-forward part the hidden state is not finite"),
                             ("model.norm.weight", "the logits of the model are not finite numbers")):
            folder = self.folder / tensor
            copy_with_nan(folder, tensor)
            for ranks, tensor_ranks in ((1, 1), (4, 2)):
                with self.subTest(tensor=tensor, ranks=ranks):
                    out, err = self.generate(folder, "And", "--tensor", str(tensor_ranks), "--pipeline", str(ranks // tensor_ranks),
                                             ranks=ranks, expect=FAILED, timeout=60)
                    self.assertEqual(err.count(says), 1, err)
                    self.assertEqual(out, "And\n")  # the message begins on a new line

    def on_unequal_ranks(self, second):
        """Runs two ranks: rank 0 opens self.model, rank 1 opens `second`."""
        script = f'exec "{VOLTPILE}" generate "$([ "$OMPI_COMM_WORLD_RANK" = 0 ] && echo "{self.model}" || echo "{second}")" And'
        done = subprocess.run([MPIRUN, "-np", "2", "sh", "-c", script], env=ENVIRONMENT, cwd=self.folder, text=True,
                              capture_output=True, timeout=60 * PATIENCE)
        self.assertEqual(done.stdout, "")
        return done

    def test_rejects_different_models(self):
        other = self.folder / "other.gguf"
        shutil.copy(MODELS / "tiny-q5_k_m.gguf", other)
        done = self.on_unequal_ranks(other)
        self.assertEqual(done.returncode, CANNOT_RUN, done.stderr)
        self.assertEqual(done.stderr.count("the ranks do not all see the same model"), 1)
        host = os.uname().nodename
        for rank in (0, 1):
            self.assertRegex(done.stderr, rf"fingerprint [0-9a-f]{{32}}: rank {rank} on {host}")

    def test_names_the_rank_without_the_model(self):
        done = self.on_unequal_ranks(self.folder / "nowhere.gguf")
        self.assertEqual(done.returncode, BAD_INPUT, done.stderr)
        self.assertEqual(done.stderr.count(f"rank 1 on {os.uname().nodename}: "), 1, done.stderr)
        self.assertIn("nowhere.gguf does not exist", done.stderr)

    def test_killed_rank_ends_all(self):
        for tensor, pipeline in ((2, 1), (1, 2)):
            with self.subTest(tensor=tensor, pipeline=pipeline):
                process = self.start("generate", self.model, "And", "-n", "500", "--ignore-end", "--cpu", "--tensor", str(tensor),
                                     "--pipeline", str(pipeline), ranks=2)
                self.assertEqual(process.stdout.read(4), "And ")
                os.kill(self.processes()[-1], signal.SIGKILL)
                process.communicate(timeout=30 * PATIENCE)
                self.assertNotEqual(process.returncode, 0)
                self.assert_all_gone()


if __name__ == "__main__":
    unittest.main()
