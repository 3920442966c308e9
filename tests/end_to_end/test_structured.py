"""Structured output: what the program writes under a grammar is accepted by Python's json, jsonschema and re."""

import itertools
import json
import os
import re
import unittest

import h5py

from harness import BAD_INPUT, Case
from random_schemas import RandomSchemas
from tiny_model import MODELS

try:
    import jsonschema
except ImportError:
    jsonschema = None

SCHEMAS = int(os.environ.get("VOLTPILE_SCHEMAS", "100"))  # a thousand take several minutes on two cores
MODEL = MODELS / "tiny-q8_0.gguf"
JOB = f"""
app = "llm"
[model]
path = "{MODEL}"
[prompts]
files = ["prompts.jsonl"]
[generate]
max_tokens = 400
[sampling]
temperature = 1.5
[engine]
context = 512
sequences = 32
[run]
device = "cpu"
"""

REGEXES = [r"(?:[a-z]{2,5}-)+\d{1,3}", r"[^a-z\"]{1,8}|x+y", r"-?\d+(?:\.\d+)?", r"(?:é|日|[α-ω]){2,6}", r"\w+@\w+\.(?:com|org)",
           r"(?:a|b)*abb", r"\{\"k\": ?(?:true|null)\}", r"[\w\s]{3,9}\.", r".{1,12}"]
GBNF = """root ::= sum "=" num
sum ::= product ("+" product){1,3}   # a recursive rule below
product ::= num | "(" sum ")"
num ::= "0" | [1-9] [0-9]{0,2}
"""


class Structured(Case):
    def answers(self, lines, job=JOB, ranks=None):
        """Runs a job and returns the text and the reason of its end for each line."""
        (self.folder / "job.toml").write_text(job)
        (self.folder / "prompts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.voltpile("run", "job.toml", "--output", "a.h5", timeout=500, ranks=ranks)
        with h5py.File(self.folder / "a.h5") as file:
            meanings = file["finish_reason"].attrs["flag_meanings"].split()
            return [(file["text"].asstr()[i], meanings[file["finish_reason"][i]]) for i in range(len(lines))]

    @unittest.skipIf(jsonschema is None, "needs Python's jsonschema")
    def test_documents_satisfy_random_schemas(self):
        schemas = RandomSchemas(11)
        lines = []
        for i in range(SCHEMAS):
            form = {"type": "json_schema", "json_schema": {"name": "random", "schema": schemas.next(), "strict": True}}
            lines.append({"prompt": "x", "seed": i, "response_format": form})
        complete = 0
        for line, (text, reason) in zip(lines, self.answers(lines), strict=True):
            if reason in ("length", "context"):
                continue
            schema = line["response_format"]["json_schema"]["schema"]
            self.assertEqual(reason, "end", (schema, text))
            jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker()).validate(json.loads(text))
            complete += 1
        self.assertGreater(complete, 0.9 * SCHEMAS)

    def test_texts_match_regular_expressions(self):
        lines = [{"prompt": "x", "seed": i, "regex": regex, "max_tokens": 100} for i, regex in enumerate(10 * REGEXES)]
        complete = 0
        for line, (text, reason) in zip(lines, self.answers(lines), strict=True):
            if reason == "end":
                complete += 1
                self.assertTrue(re.fullmatch(line["regex"], text, re.ASCII), (line["regex"], text))
        self.assertGreater(complete, len(REGEXES))

    # With two replicas, so that the other rank's answers are within the grammar too.
    def test_keys_of_a_job_hold_for_all_lines_without_their_own(self):
        job = JOB.replace("[generate]\n", "[generate]\nregex = '[0-9]{3}-[a-f]+x'\n")
        lines = 12 * [{"prompt": "x"}] + [{"prompt": "x", "regex": "y{4}"}, {"prompt": "x", "response_format": {"type": "text"}}]
        texts = self.answers([{**line, "max_tokens": 60} for line in lines], job, ranks=2)
        for text, reason in texts[:12]:
            self.assertTrue(re.fullmatch("[0-9]{3}-[a-f]+x", text) or reason == "length", (text, reason))
        self.assertEqual(texts[12], ("yyyy", "end"))
        self.assertNotRegex(texts[13][0], "^[0-9]{3}")

    def test_names_what_is_wrong_with_the_keys(self):
        (self.folder / "prompts.jsonl").write_text('{"prompt": "x"}\n')
        for keys, message in (("regex = '(a'", "generate.regex: pattern '(a': character 3: ')' is missing"),
                              ("response_format = '{'", "generate.response_format: not JSON"),
                              ("response_format = '{\"type\": \"yaml\"}'", "must be one of text, json_object, json_schema"),
                              ("regex = 'a'\ngrammar = 'root ::= \"a\"'", "exclude each other"),
                              ("regex = 'a'\nignore_end = true", "generate.regex and generate.ignore_end exclude each other")):
            (self.folder / "job.toml").write_text(JOB.replace("[generate]\n", f"[generate]\n{keys}\n"))
            _, err = self.voltpile("run", "job.toml", expect=BAD_INPUT)
            self.assertIn(message, err)
        (self.folder / "prompts.jsonl").write_text('{"prompt": "x", "ignore_end": true}\n')
        (self.folder / "job.toml").write_text(JOB.replace("[generate]\n", "[generate]\nregex = 'a'\n"))
        _, err = self.voltpile("run", "job.toml", expect=BAD_INPUT)
        self.assertIn("prompts.jsonl:1: ignore_end and a grammar exclude each other", err)

    def test_generate_takes_every_kind_of_grammar(self):
        schema = self.folder / "s.json"
        schema.write_text('{"type": "object", "properties": {"b": {"type": "boolean"}, "a": {"enum": [1, 2]}}, "required": ["b", "a"]}')
        grammar = self.folder / "sum.gbnf"
        grammar.write_text(GBNF)
        for options, check in (
                (["--json-schema", schema], lambda text: self.assertEqual(list(json.loads(text)), ["b", "a"])),
                (["--json-object"], lambda text: self.assertIsInstance(json.loads(text), dict)),
                (["--regex", r"\d{3}-[a-f]+x"], lambda text: self.assertRegex(text, r"\A\d{3}-[a-f]+x\Z")),
                (["--grammar", grammar], lambda text: self.assertRegex(text, r"\A[0-9()+]+=[0-9]{1,3}\Z"))):
            out, _ = self.voltpile("generate", MODEL, "x", "--json", "--max-tokens", "100", "--temperature", "1", *options)
            answer = json.loads(out)
            if answer["finish_reason"] == "end":
                check(answer["text"])

    def test_generate_says_that_a_text_was_cut(self):
        for regex, cut in (("[a-z]{50}", True), ("[a-z]", False)):
            _, err = self.voltpile("generate", MODEL, "x", "--max-tokens", "3", "--regex", regex)
            self.assertEqual("because of --max-tokens, and may not be complete" in err, cut, err)

    def test_keeps_within_the_limit_of_nesting(self):
        grammar = self.folder / "sum.gbnf"  # the tiny model opens one parenthesis after the other
        grammar.write_text(GBNF)
        out, _ = self.voltpile("generate", MODEL, "x", "--json", "--max-tokens", "300", "--temperature", "1", "--seed", "1",
                               "--grammar", grammar)
        depths = list(itertools.accumulate({"(": 1, ")": -1}.get(each, 0) for each in json.loads(out)["text"]))
        self.assertGreater(max(depths), 100)
        self.assertLessEqual(max(depths), 500)  # each parenthesis nests a rule at least
        self.assertGreaterEqual(min(depths), 0)

    def test_names_what_is_wrong_with_a_grammar(self):
        for options, message in ((["--regex", "(a"], "pattern '(a': character 3: ')' is missing"),
                                 (["--json-schema", "missing.json"], "missing.json"),
                                 (["--regex", "a", "--json-object"], "excludes")):
            _, err = self.voltpile("generate", MODEL, "x", *options, expect=BAD_INPUT)
            self.assertIn(message, err)
        (self.folder / "job.toml").write_text(JOB)
        (self.folder / "prompts.jsonl").write_text('{"prompt": "x", "regex": "a"}\n{"prompt": "x", "grammar": "root ::= y"}\n')
        _, err = self.voltpile("run", "job.toml", expect=BAD_INPUT)
        self.assertIn("prompts.jsonl:2: grammar: the rule 'y' is missing", err)


if __name__ == "__main__":
    unittest.main()
