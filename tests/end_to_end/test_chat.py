"""voltpile chat with the tiny model, which answers in the manner of the King James Bible: the answers of transformers,
reuse of the KV cache, commands and rejected input, from a file and at a terminal."""

import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import time
import unittest

from harness import BAD_INPUT, DONE, ENVIRONMENT, MPIRUN, PATIENCE, VOLTPILE, Case
from harmony_model import make_harmony_model, thinking_biases

MODELS = pathlib.Path(__file__).resolve().parents[2] / "data" / "tiny_model"
MODEL = MODELS / "tiny-f16.gguf"
EXPECTED = json.loads((MODELS / "chat_expected.json").read_text())
QUESTIONS = [turn["question"] for turn in EXPECTED["turns"]]
CHAT = ("chat", MODEL, "--template", "chatml", "--system", EXPECTED["system"], "--cpu")


def can_rename_hosts():
    return subprocess.run(["unshare", "--uts", "true"], capture_output=True, check=False).returncode == 0


class Chat(Case):
    def chat(self, lines, *options, command=CHAT, **more):
        questions = self.folder / "questions.txt"
        questions.write_bytes(b"".join(line if isinstance(line, bytes) else line.encode() + b"\n" for line in lines))
        with open(questions) as stdin:
            return self.voltpile(*command, *options, stdin=stdin, **more)

    def test_answers_like_transformers(self):
        out, err = self.chat(QUESTIONS, "-n", "20")
        self.assertEqual(out, "".join(turn["text"] + "\n" for turn in EXPECTED["turns"]))
        self.assertEqual(len(re.findall(r"^prompt \d+ tokens, \d+ tok/s; generated 20 tokens, [\d.]+ tok/s$", err, re.M)), 2, err)
        self.assertNotIn("\x1b", out + err)

    def test_channels_of_gpt_oss(self):
        ids = make_harmony_model(self.folder / "harmony")
        biases = [text for token, bias in thinking_biases(ids).items() for text in ("--logit-bias", f"{token}={bias}")]
        command = ("chat", self.folder / "harmony", "--cpu", "-n", "24", "--presence-penalty", "100", *biases)
        out, _ = self.chat(["Well?"], command=command)
        self.assertRegex(out, r"(?s)^<think>[^<|]+(</think>[^<|]*)?$")
        out, _ = self.chat(["Well?", "And then?"], "--json", command=command)
        first, second = (json.loads(line) for line in out.splitlines())
        self.assertEqual(first["tokens"][:3], [ids["<|channel|>"], ids["analysis"], ids["<|message|>"]])
        self.assertNotIn("<|", first["text"] + second["text"])

    def test_processes_only_new_tokens(self):
        out, _ = self.chat(QUESTIONS, "-n", "20", "--json")
        turns = [json.loads(line) for line in out.splitlines()]
        for i, (turn, expected) in enumerate(zip(turns, EXPECTED["turns"], strict=True)):
            self.assertEqual((turn["turn"], turn["tokens"], turn["text"]), (i + 1, expected["ids"], expected["text"]))
            self.assertEqual(turn["finish_reason"], "length")
        first, both = (sum(turn["added"] + len(turn["ids"]) for turn in EXPECTED["turns"][:n]) for n in (1, 2))
        self.assertEqual([turn["context_tokens"] for turn in turns], [first, both])
        # The cache keeps whole pages of 16 tokens. The last token of an answer that was cut off is not processed yet.
        self.assertEqual(turns[0]["prompt_tokens"], EXPECTED["turns"][0]["added"])
        self.assertEqual(turns[1]["prompt_tokens"], both - len(EXPECTED["turns"][1]["ids"]) - (first - 1) // 16 * 16)

    def test_several_ranks_give_the_same_answers(self):
        for cut in (("--tensor", "2"), ("--tensor", "1", "--pipeline", "2")):
            with self.subTest(cut=cut):
                out, _ = self.chat(QUESTIONS, "-n", "20", *cut, ranks=2)
                self.assertEqual(out, "".join(turn["text"] + "\n" for turn in EXPECTED["turns"]))

    @unittest.skipUnless(can_rename_hosts(), "needs root, for ranks on hosts of other names")
    def test_rank_0_lends_its_terminal_to_the_leader(self):
        """Rank 0 is alone on its host and has the terminal; two ranks on another host share the layers of the model."""
        wrapper = self.write("rank.sh", f"""#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" = 0 ] && host=one || host=two
exec unshare --uts sh -c 'hostname '$host' && exec {VOLTPILE} "$@"' sh "$@"
""")
        wrapper.chmod(0o755)

        def chat(lines, *options, expect=DONE):
            command = [MPIRUN, "-np", "3", wrapper, *CHAT, "--tensor", "2", *options]
            done = subprocess.run(command, cwd=self.folder, env=ENVIRONMENT, capture_output=True, text=True,
                                  input="".join(line + "\n" for line in lines), timeout=60 * PATIENCE)
            self.assertEqual(done.returncode, expect, done.stderr)
            self.assertEqual(done.stderr.count("1 rank is in no team: 0;"), 1, done.stderr)
            return done.stdout, done.stderr

        out, err = chat(QUESTIONS, "-n", "20")
        self.assertEqual(out, "".join(turn["text"] + "\n" for turn in EXPECTED["turns"]))
        self.assertEqual(err.count("generated 20 tokens"), 2, err)
        out, err = chat([QUESTIONS[0], "", "/clear", QUESTIONS[0], "/exit", QUESTIONS[1]], "-n", "20", "--json")
        self.assertEqual([json.loads(line)["text"] for line in out.splitlines()], 2 * [EXPECTED["turns"][0]["text"]])
        self.assertIn("begins anew", err)
        out, err = chat(QUESTIONS, "-n", "5", "--context", str(EXPECTED["turns"][0]["added"] + 9), expect=BAD_INPUT)
        self.assertEqual((len(out.splitlines()), err.count("the context is full")), (1, 1), err)

    def test_clear_and_exit(self):
        out, err = self.chat([QUESTIONS[0], "", "/clear", QUESTIONS[0], "/exit", QUESTIONS[1]], "-n", "20")
        self.assertEqual(out, 2 * (EXPECTED["turns"][0]["text"] + "\n"))
        self.assertIn("begins anew", err)
        out, err = self.chat([])
        self.assertEqual(out, "")
        # The vocabulary of the tiny model has been made without any format of chats.
        self.assertRegex(err, r"^warning: the template chatml does not fit the model: .* lacks <\|im_start\|>, <\|im_end\|>\n$")

    def test_help_and_unknown_commands(self):
        out, err = self.chat(["/help"])
        self.assertEqual(out, "")
        for command in ("/help", "/clear", "/exit"):
            self.assertRegex(err, rf"(?m)^{command} ")
        out, err = self.chat(["/claer"], expect=BAD_INPUT)
        self.assertEqual((out, err.count("there is no command /claer; did you mean /clear?")), ("", 1), err)
        for line in ("/etc/hosts is a file", " /claer"):  # texts that only look like commands
            out, _ = self.chat([line], "-n", "1", "--json")
            self.assertEqual(json.loads(out)["turn"], 1)

    def test_draws_differ_from_turn_to_turn_and_by_seed(self):
        def texts(seed):
            out, _ = self.chat([QUESTIONS[0], "/clear", QUESTIONS[0]], "-n", "20", "--temperature", "1", "--seed", seed, "--json")
            return [json.loads(line)["text"] for line in out.splitlines()]

        first = texts("7")
        self.assertNotEqual(first[0], first[1])
        self.assertEqual(first, texts("7"))
        self.assertNotEqual(first, texts("8"))

    def test_reports_a_full_context(self):
        first = EXPECTED["turns"][0]["added"]
        out, err = self.chat(QUESTIONS[:1], "--context", str(first + 5), "--json")
        turn = json.loads(out)
        self.assertEqual((turn["finish_reason"], turn["context_tokens"]), ("context", first + 5))
        self.assertIn(f"because the context of {first + 5} tokens is full", err)
        out, err = self.chat(QUESTIONS, "-n", "5", "--context", str(first + 9), expect=BAD_INPUT)
        self.assertEqual(len(out.splitlines()), 1)
        self.assertIn("the context is full: with this message the conversation has", err)

    def test_rejects_wrong_arguments(self):
        names = "chatml, qwen2, qwen2.5, qwen3, llama2, llama3, llama3.1, mistral-v0.1"
        for options, says in (
            ((), "has no chat template"),
            ((), f"with --template: {names}"),
            (("--template", "alpaca"), f'unknown chat template "alpaca"; the names are {names}'),
            (("--template", "mistral-v0.1", "--system", "Be brief"), "no place for a system message"),
            (("--template", "chatml", "--top-p", "2"), "--top-p"),
        ):
            with self.subTest(options=options):
                out, err = self.chat(QUESTIONS, *options, command=("chat", MODEL), expect=BAD_INPUT)
                self.assertEqual((out, err.count(says)), ("", 1), err)
        _, err = self.chat([b"And \xff\n"], "-n", "5", expect=BAD_INPUT)
        self.assertIn("byte", err)
        self.assertIn("is not UTF-8", err)
        _, err = self.chat([], command=("chat", "missing.gguf"), expect=BAD_INPUT)
        self.assertIn("missing.gguf", err)


class Terminal:
    """Runs the program with a pseudo-terminal of its own."""

    def __init__(self, *arguments):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs ignore it
            os.execve(VOLTPILE, [VOLTPILE, *map(str, arguments)], ENVIRONMENT)
        self.shown = ""

    def wait_for(self, text, timeout=60):
        """Returns what is shown before `text`; fails if `text` does not come."""
        deadline = time.monotonic() + timeout * PATIENCE
        while text not in self.shown:
            if not select.select([self.fd], [], [], max(0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"{text!r} did not come; shown: {self.shown!r}")
            try:
                data = os.read(self.fd, 4096)
            except OSError:  # the program has ended
                data = b""
            if not data:
                raise AssertionError(f"{text!r} did not come before the end; shown: {self.shown!r}")
            self.shown += data.decode()
        before, _, self.shown = self.shown.partition(text)
        return before

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def end(self):
        """Reads to the end and returns the wait status."""
        try:
            while os.read(self.fd, 4096):
                pass
        except OSError:
            pass
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return status


class ChatAtTheTerminal(Case):
    def start_chat(self, *options):
        terminal = Terminal(*CHAT, *options)
        self.addCleanup(self.kill, terminal.pid)
        terminal.wait_for("> ")
        return terminal

    def kill(self, pid):
        try:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except OSError:
            pass  # it has ended as expected

    def test_answers_each_question(self):
        terminal = self.start_chat("-n", "20")
        for turn in EXPECTED["turns"]:
            terminal.type(turn["question"] + "\n")
            terminal.wait_for(turn["question"] + "\r\n")
            self.assertEqual(terminal.wait_for("\x1b[2m"), turn["text"].replace("\n", "\r\n") + "\r\n")
            self.assertRegex(terminal.wait_for("\x1b[0m"), r"^prompt \d+ tokens.* tok/s$")
            terminal.wait_for("> ")
        terminal.type("\x04")  # Ctrl-D
        self.assertEqual(os.waitstatus_to_exitcode(terminal.end()), DONE)

    def test_interrupt_stops_the_answer_then_the_program(self):
        terminal = self.start_chat("--context", "100000")
        terminal.type(QUESTIONS[0] + "\n")
        terminal.wait_for("Azariah")
        terminal.type("\x03")  # Ctrl-C
        terminal.wait_for("tok/s\x1b[0m")
        terminal.wait_for("> ")
        terminal.type("/clear\n")
        terminal.wait_for("begins anew")
        terminal.wait_for("> ")
        terminal.type(QUESTIONS[0] + "\n")  # and it can still answer
        terminal.wait_for("Azariah")
        terminal.type("\x03")
        terminal.wait_for("tok/s\x1b[0m")
        terminal.wait_for("> ")
        terminal.type("\x03")
        self.assertEqual(os.waitstatus_to_exitcode(terminal.end()), -signal.SIGINT)

    def test_continues_after_a_rejected_question(self):
        terminal = self.start_chat("-n", "20", "--context", "90")
        terminal.type("And " * 60 + "\n")
        terminal.wait_for("the context is full")
        terminal.wait_for("> ")
        terminal.type("x" * 5000 + "\n")
        terminal.wait_for("not sent: the terminal keeps 4095 bytes of a line")
        terminal.wait_for("> ")
        terminal.type(QUESTIONS[0] + "\n")
        terminal.wait_for(EXPECTED["turns"][0]["text"])
        terminal.wait_for("> ")
        terminal.type("/clera\n")
        terminal.wait_for("there is no command /clera; did you mean /clear?")
        terminal.wait_for("> ")
        terminal.type("/exit\n")
        self.assertEqual(os.waitstatus_to_exitcode(terminal.end()), DONE)


if __name__ == "__main__":
    unittest.main()
