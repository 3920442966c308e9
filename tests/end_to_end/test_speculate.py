"""--speculate and --draft: the same tokens, log-probabilities and ends as without, wherever text is generated."""

import json
import shutil
import struct
import unittest

from harness import BAD_INPUT, CANNOT_RUN, SOURCE
from llm_case import GREEDY, LlmJob
from serving import ServeCase
from tiny_model import MODELS, read_header

MODEL = MODELS / "tiny-q8_0.gguf"
PASSAGE = "And the LORD said unto Moses, Stretch out thine hand over the sea, that the waters may come again. "
THRICE = PASSAGE * 3 + "And the LORD"
SPECULATE = ("--speculate", "ngram")
DRAFT = ("--draft", MODELS / "tiny-q5_k_m.gguf")
TIMES = ("prompt_seconds", "generation_seconds", "prompt_tokens_per_second", "tokens_per_second")
GUESSES = ("steps", "drafted_tokens", "right_tokens")


class Speculate(LlmJob):
    def generated(self, *arguments, ranks=None):
        answer = json.loads(self.voltpile("generate", MODEL, *arguments, "--cpu", "--json", ranks=ranks)[0])
        return {key: value for key, value in answer.items() if key not in TIMES}

    def assert_same_text(self, *arguments, ranks=None):
        plain = self.generated(*arguments, ranks=ranks)
        for kind in (SPECULATE, DRAFT):
            with self.subTest(kind=kind):
                self.assert_same_as(plain, self.generated(*arguments, *kind, ranks=ranks))

    def assert_same_as(self, plain, guessed):
        self.assertEqual(plain["drafted_tokens"], 0)
        ends = 1 if plain["finish_reason"] == "end" else 0  # an end token takes a step, too
        self.assertIn(plain["steps"], (len(plain["tokens"]), len(plain["tokens"]) + ends))
        self.assertEqual(guessed["steps"] + guessed["right_tokens"], plain["steps"])
        self.assertLessEqual(guessed["right_tokens"], guessed["drafted_tokens"])
        self.assertEqual(*({key: value for key, value in answer.items() if key not in GUESSES} for answer in (guessed, plain)))

    def test_greedy_text_is_that_of_transformers(self):
        for wanted in GREEDY[:2]:
            for kind in (SPECULATE, DRAFT):
                answer = self.generated(wanted["prompt"], "-n", str(len(wanted["ids"])), *kind)
                self.assertEqual(answer["tokens"], wanted["ids"])

    def test_same_text_on_every_cut(self):
        for ranks, tensor, pipeline in ((1, 1, 1), (2, 2, 1), (2, 1, 2)):
            with self.subTest(tensor=tensor, pipeline=pipeline):
                self.assert_same_text(THRICE, "-n", "60", "--tensor", str(tensor), "--pipeline", str(pipeline), ranks=ranks)

    def test_same_text_with_a_draft_on_its_own_ranks(self):
        for ranks, own, cut in ((2, 1, ()), (3, 2, ()), (4, 2, ("--tensor", "2")), (3, 1, ("--tensor", "1", "--pipeline", "2"))):
            with self.subTest(ranks=ranks, own=own, cut=cut):
                plain = self.generated(THRICE, "-n", "60", *cut, ranks=ranks - own)
                answer = self.generated(THRICE, "-n", "60", *cut, *DRAFT, "--draft-ranks", str(own), "--draft-tokens", "4", ranks=ranks)
                self.assert_same_as(plain, answer)
                # Whether guesses of a model of the same size pay is decided by the machine's pace.
                if answer["drafted_tokens"] > 20:
                    self.assertGreater(answer["right_tokens"], 0.6 * answer["drafted_tokens"])

    def test_draft_on_its_own_ranks_says_so(self):
        _, err = self.voltpile("generate", MODEL, "And", "-n", "4", "--cpu", *DRAFT, "--draft-ranks", "1", ranks=2)
        self.assertIn("with a draft model on 1 rank of its own", err)

    def test_refuses_ranks_for_no_draft(self):
        _, err = self.voltpile("generate", MODEL, "And", "--draft-ranks", "1", expect=BAD_INPUT)
        self.assertIn("--draft-ranks requires --draft", err)
        _, err = self.voltpile("generate", MODEL, "And", *DRAFT, "--draft-ranks", "2", "--cpu", ranks=2, expect=CANNOT_RUN)
        self.assertEqual(err.count("--draft-ranks 2 of 2 ranks: none is left for the model"), 1)
        self.write_prompts([{"prompt": "And"}])
        _, err = self.voltpile("run", self.job, "--set", "engine.draft_ranks=1", "--output", "a.h5", expect=BAD_INPUT)
        self.assertIn("engine.draft_ranks needs engine.draft", err)

    def test_same_draws_for_a_seed(self):
        for options in (("--temperature", "0.7"), ("--temperature", "1.2", "--top-k", "40", "--top-p", "0.9"),
                        ("--temperature", "0.5", "--repetition-penalty", "1.2"), ("--frequency-penalty", "0.3", "--top-n", "3")):
            with self.subTest(options=options):
                self.assert_same_text(THRICE, "-n", "60", "--seed", "11", *options)

    def test_same_ends(self):
        self.assert_same_text(THRICE, "--context", "140", "-n", "1000")
        self.assert_same_text(THRICE, "-n", "60", "--stop", "the sea")
        self.assert_same_text(THRICE, "-n", "1")

    def test_same_structured_text(self):
        schema = self.folder / "schema.json"
        schema.write_text(json.dumps({"type": "array", "items": {"enum": ["the LORD", "the sea", "Moses"]}, "minItems": 5, "maxItems": 9}))
        self.assert_same_text(THRICE, "-n", "120", "--json-schema", schema)
        self.assert_same_text(THRICE, "-n", "60", "--regex", "( and the (sea|LORD)){3,6}")

    def test_same_rows_of_a_job(self):
        texts = [PASSAGE * (1 + i % 3) + "And the" for i in range(6)]
        self.write_prompts({"prompt": text, "max_tokens": 10 + 3 * i, "temperature": 0.8 * (i % 2)} for i, text in enumerate(texts))
        job = ("run", self.job, "--set", "engine.context=200", "--output")
        self.voltpile(*job, "a.h5")
        plain = self.rows()
        for ranks in (None, 2):
            for kind in ("engine.speculate=ngram", f"engine.draft={DRAFT[1]}"):
                with self.subTest(ranks=ranks, kind=kind):
                    _, err = self.voltpile(*job, "a.h5", "--fresh", "--set", kind, "--set", "engine.draft_tokens=5",
                                           "--set", f"engine.pipeline={ranks or 1}", ranks=ranks)
                    self.assertRegex(err, r"rank 0: \d+\.\d\d tokens in a step; \d+ of \d+ guesses right")
                    self.assertEqual(self.rows(), plain)
        out, err = self.voltpile(*job, "a.h5", "--fresh", "--set", f"engine.draft={DRAFT[1]}", "--set", "engine.draft_ranks=1",
                                 ranks=2)
        self.assertRegex(err, r"rank 0: \d+\.\d\d tokens in a step; \d+ of \d+ guesses right")
        self.assertRegex(out, r"(?m)^ +1 .* with rank 0$")
        self.assertEqual(self.rows(), plain)

    def test_draft_of_the_same_model_is_mostly_right(self):
        # No paces of a busy machine: all guesses are checked, because a guess of the same model is as good as free.
        answer = self.generated(GREEDY[0]["prompt"], "-n", "48", *DRAFT, "--draft-tokens", "4")
        if answer["drafted_tokens"] > 20:
            self.assertGreater(answer["right_tokens"], 0.6 * answer["drafted_tokens"])

    def test_draft_that_is_wrong_changes_nothing(self):
        # Its layers are in another order: of the same vocabulary, but with other thoughts.
        content = MODELS.joinpath("tiny-q8_0.gguf").read_bytes()
        for one, other in ((b"blk.0.", b"blk.3."), (b"blk.1.", b"blk.2.")):
            self.assertIn(one, content)
            content = content.replace(one, b"blk.#.").replace(other, one).replace(b"blk.#.", other)
        draft = self.folder / "wrong.gguf"
        draft.write_bytes(content)
        for options in (("-n", "100"), ("-n", "60", "--temperature", "0.8", "--seed", "5")):
            plain, guessed = self.generated(THRICE, *options), self.generated(THRICE, *options, "--draft", draft)
            self.assert_same_as(plain, guessed)

    def test_draft_needs_the_vocabulary(self):
        other = self.folder / "other.gguf"
        self.voltpile("model", "synth", "--shape", "tiny", "--quant", "q8_0", "-o", other)
        _, err = self.voltpile("generate", MODEL, "And", "--draft", other, expect=BAD_INPUT)
        self.assertRegex(err, r"other\.gguf cannot guess for .*tiny-q8_0\.gguf: their vocabularies differ")
        _, err = self.voltpile("generate", MODEL, "And", "--draft", self.folder / "none.gguf", expect=BAD_INPUT)
        self.assertIn("none.gguf", err)
        self.assertIn("--speculate", self.voltpile("generate", MODEL, "And", *DRAFT, *SPECULATE, expect=BAD_INPUT)[1])

    def test_refuses_other_kinds_and_lengths(self):
        def refused(*options):
            return self.voltpile("generate", MODEL, "And", *options, expect=BAD_INPUT)[1]

        self.assertIn("ngram", refused("--speculate", "medusa"))
        for length in ("0", "-3", "65", "many"):
            self.assertIn("--draft-tokens", refused(*SPECULATE, "--draft-tokens", length))
        self.assertIn("--speculate", refused("--draft-tokens", "4"))

    def test_refuses_other_keys_with_file_and_line(self):
        self.write_prompts([{"prompt": "And"}])
        job = self.job.read_text()
        for line, says in (('speculate = "medusa"', "engine.speculate"), ("draft_tokens = -2", "engine.draft_tokens"),
                           ("draft_tokens = 0", "engine.draft_tokens"), ("speculate = 3", "engine.speculate")):
            with self.subTest(line=line):
                text = job.replace("sequences = 4", f"sequences = 4\n{line}")
                self.job.write_text(text)
                _, err = self.voltpile("run", self.job, "--output", "a.h5", expect=BAD_INPUT)
                number = text.splitlines().index(line) + 1
                self.assertRegex(err, rf"job\.toml:{number}: .*{says}")
                self.assertEqual(err.count(says), 1, err)
        self.job.write_text(job.replace("sequences = 4", 'sequences = 4\nspeculate = "ngram"\ndraft = "no.gguf"'))
        _, err = self.voltpile("run", self.job, "--output", "a.h5", expect=BAD_INPUT)
        self.assertIn("engine.draft and engine.speculate exclude each other", err)
        self.job.write_text(job.replace("sequences = 4", 'sequences = 4\ndraft = "no.gguf"'))
        _, err = self.voltpile("run", self.job, "--output", "a.h5", expect=BAD_INPUT)
        self.assertIn('engine.draft = "no.gguf" does not exist', err)


PREDICTING = SOURCE / "data/llm/goldens/glm4_moe_mtp"
PREDICTING_WITH_TWO = SOURCE / "data/llm/goldens/glm4_moe_two_mtp"
MTP = ("--speculate", "mtp")
SENTENCE = "And the LORD said"
# Passes of 256 tokens are cut, and a token is a byte.
CUT_BY_TOKENS = ("--tensor", "2", "--context-parallel", "on", "--context", "400")


def write_tokenizer(folder, tokens):
    """Gives a model without a tokenizer one of single bytes."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    symbols = [chr(0x120), *map(chr, printable)][:tokens]  # the first is the space
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    model = {"type": "BPE", "vocab": {symbol: i for i, symbol in enumerate(symbols)}, "merges": []}
    (folder / "tokenizer.json").write_text(json.dumps({"model": model, "pre_tokenizer": byte_level, "decoder": byte_level}))


class SpeculateWithPredictionLayer(LlmJob):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "model"
        self.model.mkdir()
        self.copy_model(PREDICTING)
        write_tokenizer(self.model, 160)

    def copy_model(self, folder):
        for name in ("config.json", "model.safetensors"):
            shutil.copy(folder / name, self.model)

    def generated(self, *options, ranks=None):
        prompt = SENTENCE * (16 if "--context" in options else 1)
        answer = json.loads(self.voltpile("generate", self.model, prompt, "-n", "40", "--ignore-end", "--cpu", "--json", *options,
                                          ranks=ranks)[0])
        return {key: value for key, value in answer.items() if key not in TIMES}

    def test_same_text(self):
        for options, ranks in (((), None), (("--temperature", "0.9", "--seed", "3"), None), (("--tensor", "2"), 2),
                               (("--pipeline", "2"), 2), (("--tensor", "2", "--pipeline", "2", "--temperature", "0.9"), 4),
                               (CUT_BY_TOKENS, 2)):
            with self.subTest(options=options):
                self.assert_same_text(*options, ranks=ranks)

    def test_same_text_with_two_layers(self):
        self.copy_model(PREDICTING_WITH_TWO)
        self.assert_same_text()
        self.assert_same_text("--pipeline", "2", ranks=2)

    def assert_same_text(self, *options, ranks=None):
        plain, guessed = self.generated(*options, ranks=ranks), self.generated(*options, *MTP, ranks=ranks)
        self.assertEqual(guessed["steps"] + guessed["right_tokens"], plain["steps"])
        self.assertEqual(*({key: value for key, value in answer.items() if key not in GUESSES} for answer in (guessed, plain)))

    def test_same_rows_of_a_job(self):
        self.write_prompts({"prompt": "And the LORD said"[i:], "max_tokens": 10 + 3 * i} for i in range(6))
        job = ("run", self.job, "--set", f"model.path={self.model}", "--output", "a.h5")
        self.voltpile(*job)
        plain = self.rows()
        for ranks in (None, 2):
            self.voltpile(*job, "--fresh", "--set", "engine.speculate=mtp", "--set", f"engine.pipeline={ranks or 1}", ranks=ranks)
            self.assertEqual(self.rows(), plain)
        out, _ = self.voltpile("plan", self.job, "--set", f"model.path={self.model}", "--set", "engine.speculate=mtp")
        self.assertIn("beside the prediction layer with a cache of", out)

    def test_refuses_what_cannot_work(self):
        def refused(model, *options, ranks=None):
            return self.voltpile("generate", model, "And", *MTP, "--cpu", *options, expect=BAD_INPUT, ranks=ranks)[1]

        self.assertRegex(refused(MODEL), r"tiny-q8_0\.gguf is a Llama.* model without a layer that predicts further tokens")
        weights = self.model / "model.safetensors"
        content = weights.read_bytes()
        weights.write_bytes(content.replace(b"layers.2.eh_proj", b"layers.2.xx_proj"))
        self.assertIn("blk.2.nextn.eh_proj.weight is missing", refused(self.model))
        self.generated()  # without the layer the model is complete


EAGLE = SOURCE / "data/llm/goldens/eagle3"


def fill(path, numbers):
    """Overwrites tensors of a safetensors file in F16: numbers maps names, or ends of names, to a function of the row."""
    header, data = read_header(path)
    content = bytearray(path.read_bytes())
    for name, entry in header.items():
        for end, number in numbers.items():
            if not name.endswith(end):
                continue
            rows, columns = entry["shape"] if len(entry["shape"]) == 2 else (1, *entry["shape"])
            begin = data + entry["data_offsets"][0]
            content[begin : begin + 2 * rows * columns] = b"".join(struct.pack("<e", number(row)) * columns for row in range(rows))
    path.write_bytes(content)


class SpeculateWithEagleHead(LlmJob):
    def setUp(self):
        super().setUp()
        self.model, self.head = self.folder / "model", self.folder / "head"
        self.model.mkdir()
        for name in ("config.json", "model.safetensors"):
            shutil.copy(EAGLE / name, self.model)
        shutil.copytree(EAGLE / "head", self.head)
        write_tokenizer(self.model, 160)

    def generated(self, *options, ranks=None):
        end = () if "--regex" in options else ("--ignore-end",)
        prompt = SENTENCE * (16 if "--context" in options else 1)
        answer = json.loads(self.voltpile("generate", self.model, prompt, "-n", "40", *end, "--cpu", "--json", *options,
                                          ranks=ranks)[0])
        return {key: value for key, value in answer.items() if key not in TIMES}

    def assert_same(self, plain, guessed):
        self.assertEqual(guessed["steps"] + guessed["right_tokens"], plain["steps"])
        self.assertEqual(*({key: value for key, value in answer.items() if key not in GUESSES} for answer in (guessed, plain)))

    def test_same_text(self):
        for options, ranks in (((), None), (("--temperature", "0.9", "--seed", "3", "--repetition-penalty", "1.2"), None),
                               (("--regex", "[a-h]{30,50}", "--logit-bias", "70=3"), None), (("--tensor", "2"), 2), (("--pipeline", "3"), 3),
                               (CUT_BY_TOKENS, 2)):
            with self.subTest(options=options):
                self.assert_same(self.generated(*options, ranks=ranks), self.generated(*options, "--draft", self.head, ranks=ranks))

    def test_states_of_prompts_cut_by_tokens(self):
        cut = self.generated(*CUT_BY_TOKENS, "--top-n", "2", "--draft", self.head, ranks=2)
        one_rank = self.generated("--context", "400", "--top-n", "2")
        self.assertEqual(cut["top_log_probabilities"][0], one_rank["top_log_probabilities"][0])  # only a cut pass has the same bits

    def test_right_guesses_are_accepted(self):
        # The model writes one token again and again, and the head knows that.
        header, data = read_header(self.head / "model.safetensors")
        content = (self.head / "model.safetensors").read_bytes()
        (offset,) = struct.unpack_from("<q", content, data + header["d2t"]["data_offsets"][0] + 8 * 50)
        fill(self.model / "model.safetensors", {"embed_tokens.weight": lambda row: 1, "lm_head.weight": lambda row: row == 50 + offset,
                                                "norm.weight": lambda row: 1, "down_proj.weight": lambda row: 0, "o_proj.weight": lambda row: 0})
        fill(self.head / "model.safetensors", {"fc.weight": lambda row: 1, "lm_head.weight": lambda row: row == 50, "norm.weight": lambda row: 1,
                                               "down_proj.weight": lambda row: 0, "o_proj.weight": lambda row: 0})
        plain = self.generated()
        self.assertEqual(set(plain["tokens"]), {50 + offset})
        for _ in range(10):  # whether guesses pay depends on how long passes take
            guessed = self.generated("--draft", self.head)
            self.assert_same(plain, guessed)
            self.assertEqual(guessed["right_tokens"], guessed["drafted_tokens"])
            if guessed["right_tokens"] > 0:
                return
        self.fail("no guess in 10 texts")

    def test_same_rows_of_a_job(self):
        self.write_prompts({"prompt": "And the LORD said"[i:], "max_tokens": 10 + 3 * i} for i in range(6))
        job = ("run", self.job, "--set", f"model.path={self.model}", "--output", "a.h5")
        self.voltpile(*job)
        plain = self.rows()
        draft = ("--set", f"engine.draft={self.head}")
        self.voltpile(*job, "--fresh", *draft)
        self.assertEqual(self.rows(), plain)
        out, _ = self.voltpile("plan", self.job, "--set", f"model.path={self.model}", *draft)
        self.assertIn("beside the EAGLE 3 head with a cache of", out)

    def test_refuses_what_cannot_work(self):
        def refused(model, *options, ranks=None):
            return self.voltpile("generate", model, "And", "--draft", self.head, "--cpu", *options, expect=BAD_INPUT, ranks=ranks)[1]

        self.assertIn("head/config.json: the EAGLE 3 head has the hidden size 64", refused(MODEL))
        _, err = self.voltpile("generate", self.head, "And", expect=BAD_INPUT)
        self.assertIn("is an EAGLE 3 head, which guesses for a model", err)


class ServeWithGuesses(ServeCase):
    def test_same_answers_and_metrics(self):
        body = {"prompt": THRICE, "max_tokens": 50, "temperature": 0, "ignore_eos": True}

        def text():
            return self.post("/v1/completions", body).json["choices"][0]["text"]

        self.serve()
        plain = text()
        for kind in (SPECULATE, DRAFT):
            with self.subTest(kind=kind):
                self.end_server()
                (self.folder / "address").unlink(missing_ok=True)
                self.serve(*kind, "--draft-tokens", 4)
                self.assertEqual(text(), plain)
                self.wait_for_metric("vllm:generation_tokens_total", 50)  # counted after the answer
                steps, drafted, right = (self.metric(name) for name in (
                    "voltpile:steps_total", "vllm:spec_decode_num_draft_tokens_total",
                    "vllm:spec_decode_num_accepted_tokens_total"))
                self.assertEqual(steps + right, 50)
                self.assertLessEqual(right, drafted)


if __name__ == "__main__":
    unittest.main()
