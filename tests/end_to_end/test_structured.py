"""Structured output: what the program writes under a grammar is accepted by Python's json, jsonschema and re."""

import json
import os
import re
import unittest

import h5py

from harness import BAD_INPUT, FAILED, Case
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
    def answers(self, lines):
        """Runs a job and returns the text and the reason of its end for each line."""
        (self.folder / "job.toml").write_text(JOB)
        (self.folder / "prompts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.voltpile("run", "job.toml", "--output", "a.h5", timeout=500)
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

    def test_reports_nesting_beyond_the_limit(self):
        grammar = self.folder / "sum.gbnf"  # the tiny model opens one parenthesis after the other
        grammar.write_text(GBNF)
        _, err = self.voltpile("generate", MODEL, "x", "--max-tokens", "300", "--temperature", "1", "--seed", "1",
                               "--grammar", grammar, expect=FAILED)
        self.assertIn("nests more than 500 rules", err)

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
