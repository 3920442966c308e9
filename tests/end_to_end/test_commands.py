"""list, verify, cancel, clean, help COMMAND and tokenize, as a user meets them."""

import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import time
import unittest

import h5py

from harness import BAD_INPUT, CANNOT_RUN, DONE, ENVIRONMENT, FAILED, PATIENCE, SLOW, SOURCE, STOPPED, VOLTPILE, Case

MODELS = SOURCE / "data" / "tiny_model"
MODEL = MODELS / "tiny-f16.gguf"


class List(Case):
    def test_results_and_unfinished_jobs(self):
        (self.folder / "sub").mkdir()
        self.small_result("sub/a.h5")
        self.unfinished_result()
        self.write("notes.h5", "not a result")
        with h5py.File(self.folder / "theirs.h5", "w") as file:
            file["data"] = [1, 2, 3]
        out, _ = self.voltpile("list")
        lines = out.splitlines()
        self.assertEqual(len(lines), 3, out)
        self.assertRegex(lines[0], r"^done +app +points +size +age +path$")
        self.assertRegex(lines[1], r"^\d+\.\d % +threebody +12,000 +.*\./stopped\.h5$")
        self.assertRegex(lines[2], r"^complete +threebody +35 +.*\./sub/a\.h5$")
        out, _ = self.voltpile("list", "sub")
        self.assertEqual(len(out.splitlines()), 2, out)

    def test_run_that_is_writing_is_named(self):
        process = self.start("run", self.job, "--output", "a.h5", *SLOW)
        self.wait_for_parts(self.folder / "a.h5", 1)
        out, _ = self.voltpile("list")
        self.assertIn(f"pid {process.pid} on ", out)
        process.send_signal(signal.SIGINT)
        self.finish(process, expect=STOPPED)

    def test_damaged_result(self):
        path = self.small_result()
        path.write_bytes(path.read_bytes()[:3000])
        out, _ = self.voltpile("list")
        self.assertRegex(out, r"(?m)^damaged .*a\.h5$")

    def test_says_when_there_is_nothing_to_list(self):
        out, _ = self.voltpile("list")
        self.assertIn("no results and no unfinished jobs under .", out)
        _, err = self.voltpile("list", "nowhere", expect=BAD_INPUT)
        self.assertIn("nowhere: there is no such folder", err)
        _, err = self.voltpile("list", self.job, expect=BAD_INPUT)
        self.assertIn("map.toml is not a folder", err)


class Cancel(Case):
    def test_stops_a_run_on_this_host(self):
        process = self.start("run", self.job, "--output", "a.h5", *SLOW)
        self.wait_for_parts(self.folder / "a.h5", 2)
        out, _ = self.voltpile("cancel", "a.h5")
        self.assertRegex(out, rf"^stopped pid {process.pid} on \S+; [\d,]+ of 12,000 points are committed")
        self.finish(process, expect=STOPPED)

    def test_stops_all_ranks(self):
        process = self.start("run", self.job, "--output", "a.h5", *SLOW, ranks=2)
        self.wait_for_parts(self.folder / "a.h5", 2)
        self.voltpile("cancel", "a.h5")
        self.finish(process, expect=STOPPED)

    def test_rejects_a_result_that_no_run_is_writing(self):
        self.small_result()
        for subject, says in (("a.h5", "no run is writing this result"), ("missing.h5", "missing.h5: there is no such job")):
            _, err = self.voltpile("cancel", subject, expect=BAD_INPUT)
            self.assertIn(says, err)

    def test_run_on_another_host(self):
        process = self.start("run", self.job, "--output", "a.h5", *SLOW)
        self.wait_for_parts(self.folder / "a.h5", 1)
        lock = self.folder / "a.h5.parts/lock"
        record = json.loads(lock.read_text())
        with open(lock, "r+") as file:  # the same file, which stays locked
            file.write(json.dumps({**record, "host": "node7"}) + "\n")
            file.truncate()
        _, err = self.voltpile("cancel", "a.h5", expect=CANNOT_RUN)
        self.assertIn(f"ssh node7 kill -USR1 {process.pid}", err)
        process.send_signal(signal.SIGINT)
        process.communicate()

    def test_jobs_of_slurm(self):
        tools = self.folder / "bin"
        tools.mkdir()
        us = "\x1f"
        comment = f"voltpile {self.folder}/a.h5"
        line = us.join(["12", "map", "all", "RUNNING", "None", "node1", "1", "1:00", "1:00:00", "59:00", "N/A", comment])
        (tools / "squeue").write_text(f"""#!/bin/sh
case "$*" in
*--Format=*) printf '%-64s%-16s\\n' 12 0 ;;
*) printf '%s\\n' '{line}' ;;
esac
""")
        (tools / "scancel").write_text("#!/bin/sh\necho \"$@\" >> canceled\n")
        for tool in tools.iterdir():
            tool.chmod(0o755)
        environment = {"PATH": f"{tools}:{os.environ['PATH']}"}
        for subject in ("12", "a.h5"):
            out, _ = self.voltpile("cancel", subject, environment=environment)
            self.assertEqual(out, "canceled job 12 map\n")
        self.assertEqual((self.folder / "canceled").read_text(), "12\n12\n")
        squeue = (tools / "squeue").read_text()
        (tools / "squeue").write_text(squeue.replace("RUNNING", "COMPLETED"))
        _, err = self.voltpile("cancel", "12", environment=environment, expect=BAD_INPUT)
        self.assertIn("job 12 has ended already (COMPLETED)", err)
        (tools / "squeue").write_text(squeue.replace(comment, "other"))
        _, err = self.voltpile("cancel", "12", environment=environment, expect=BAD_INPUT)
        self.assertIn("was not submitted by voltpile", err)
        self.assertEqual((self.folder / "canceled").read_text(), "12\n12\n")


class Clean(Case):
    def test_deletes_stale_part_folders_and_nothing_else(self):
        result = self.small_result()
        parts = pathlib.Path(str(self.unfinished_result()) + ".parts")
        (self.folder / "mine.parts").mkdir()
        self.write("mine.parts/notes.txt", "mine")
        out, _ = self.voltpile("clean", "--yes")
        self.assertIn("no stale part folders", out)
        self.assertIn("changed in the last 7 days", out)
        self.assertTrue(parts.is_dir())
        out, _ = self.voltpile("clean", "--days", "0", "--yes")
        self.assertIn("deleted ./stopped.h5.parts", out)
        self.assertFalse(parts.exists())
        self.assertTrue(result.exists())
        self.assertTrue((self.folder / "mine.parts/notes.txt").exists())

    def test_old_ones_are_stale(self):
        parts = pathlib.Path(str(self.unfinished_result()) + ".parts")
        long_ago = time.time() - 8 * 86400
        for path in (*parts.rglob("*"), parts):
            os.utime(path, (long_ago, long_ago))
        self.voltpile("clean", "--yes")
        self.assertFalse(parts.exists())

    def test_left_over_parts_of_a_complete_result(self):
        self.unfinished_result("a.h5")
        parts = self.folder / "a.h5.parts"
        kept = self.folder / "kept"
        subprocess.run(["cp", "-a", parts, kept], check=True)
        self.voltpile("run", self.job, "--output", "a.h5", *SLOW)
        os.rename(kept, parts)
        out, _ = self.voltpile("clean", "--yes")
        self.assertIn("left over, the result is complete", out)
        self.assertFalse(parts.exists())
        self.assertTrue((self.folder / "a.h5").exists())

    def test_keeps_the_folder_of_a_running_job(self):
        process = self.start("run", self.job, "--output", "a.h5", *SLOW)
        self.wait_for_parts(self.folder / "a.h5", 1)
        out, _ = self.voltpile("clean", "--days", "0", "--yes")
        self.assertIn("kept: 1 in use by a run", out)
        process.send_signal(signal.SIGINT)
        self.finish(process, expect=STOPPED)
        self.assertTrue(self.parts(self.folder / "a.h5"))

    def test_keeps_files_that_are_not_ours(self):
        parts = pathlib.Path(str(self.unfinished_result()) + ".parts")
        (parts / "notes.txt").write_text("mine")
        self.voltpile("clean", "--days", "0", "--yes")
        self.assertEqual([p.name for p in parts.iterdir()], ["notes.txt"])

    def test_asks_first(self):
        parts = pathlib.Path(str(self.unfinished_result()) + ".parts")
        _, err = self.voltpile("clean", "--days", "0", expect=BAD_INPUT)
        self.assertIn("pass --yes to delete", err)
        for answer, deleted in (("n\n", False), ("\n", False), ("y\n", True)):
            ours, theirs = pty.openpty()
            os.write(ours, answer.encode())
            done = subprocess.run([VOLTPILE, "clean", "--days", "0"], cwd=self.folder, env=ENVIRONMENT, stdin=theirs,
                                  capture_output=True, text=True, timeout=60 * PATIENCE)
            os.close(ours)
            os.close(theirs)
            self.assertEqual((done.returncode, parts.exists()), (DONE, not deleted), done.stdout + done.stderr)
            self.assertIn("delete 1 part folder", done.stdout)


class Verify(Case):
    def damage(self, path, name):
        """Flips a bit of a value that is already on disk."""
        with h5py.File(path) as file:
            dataset = file[name].id
            offset = dataset.get_offset()
            if offset is None:
                offset = dataset.get_chunk_info(0).byte_offset
        content = bytearray(path.read_bytes())
        content[offset + 5] ^= 0x10
        path.write_bytes(content)

    def test_finished_result(self):
        path = self.small_result()
        out, _ = self.voltpile("verify", "a.h5")
        self.assertIn("a.h5: 35 of 35 points intact", out)
        self.damage(path, "energy_error")
        _, err = self.voltpile("verify", "a.h5", expect=FAILED)
        self.assertRegex(err, "energy_error do not match their checksum .points 0 to 34.")
        found = json.loads(self.voltpile("verify", "a.h5", "--json", expect=FAILED)[0])
        self.assertEqual(found["damage"][0]["where"], "energy_error")
        self.assertEqual((found["damage"][0]["begin"], found["damage"][0]["end"]), (0, 35))
        self.voltpile("verify", "a.h5", "--parts", expect=BAD_INPUT)
        out, _ = self.voltpile("repair", "a.h5", "--dry-run")
        self.assertIn("35 of 35 points are missing", out)
        self.voltpile("repair", "a.h5")
        self.small_result()  # resumes and replaces it
        self.voltpile("verify", "a.h5")

    def test_unfinished_result(self):
        path = self.unfinished_result()
        out, _ = self.voltpile("verify", "stopped.h5")
        self.assertRegex(out, r"stopped\.h5: [\d,]+ of 12,000 points intact")
        part = self.parts(path)[0]
        self.damage(part, "energy_error")
        _, err = self.voltpile("verify", "stopped.h5", expect=FAILED)
        self.assertIn(part.name, err)
        out, _ = self.voltpile("repair", "stopped.h5")
        self.assertIn(f"moved aside {part.name}", out)
        self.voltpile("verify", "stopped.h5")
        self.voltpile("run", self.job, "--output", "stopped.h5", "--set", "run.threads=0")
        self.voltpile("verify", "stopped.h5")

    def test_rejects_bad_input(self):
        self.write("text.h5", "hello")
        for name in ("missing.h5", "text.h5"):
            _, err = self.voltpile("verify", name, expect=BAD_INPUT)
            self.assertIn(name, err)


class Help(Case):
    def test_help_of_every_command(self):
        whole, _ = self.voltpile("--help")
        self.assertEqual(self.voltpile("help")[0], whole)
        names = re.findall(r"^  (\w+) ", whole[whole.index("Subcommands:"):whole.index("examples:")], re.M)
        self.assertLessEqual({"run", "list", "export", "cancel", "clean", "tokenize"}, set(names))
        for command in (*([name] for name in names), ["model", "info"], ["bench", "llm"]):
            with self.subTest(command=command):
                self.assertEqual(self.voltpile("help", *command)[0], self.voltpile(*command, "--help")[0])

    def test_unknown_topics(self):
        for words, says in ((("rnu",), "did you mean run?"), (("model", "inof"), "voltpile model has no command inof; did you mean info?"),
                            (("job", "fourbody"), "no app fourbody"), (("job", "llm", "x"), "takes one app")):
            _, err = self.voltpile("help", *words, expect=BAD_INPUT)
            self.assertIn(says, err)


class Tokenize(Case):
    EXPECTED = json.loads((MODELS / "expected.json").read_text())

    def ids(self, *arguments, **options):
        return [int(word) for word in self.voltpile("tokenize", MODEL, *arguments, "--ids", **options)[0].split()]

    def test_ids_and_pieces(self):
        text = "And it came to pass"
        ids = self.ids(text, "--plain")
        out, _ = self.voltpile("tokenize", MODEL, text, "--plain")
        *lines, last = out.splitlines()
        self.assertEqual([int(line.split()[0]) for line in lines], ids)
        self.assertEqual("".join(json.loads(line.split(maxsplit=1)[1]) for line in lines).strip(), text)
        self.assertEqual(last, f"{len(ids)} tokens, {len(text)} bytes")

    def test_same_ids_as_the_fields_tokenizer(self):
        try:
            from tokenizers import Tokenizer
        except ImportError:
            self.skipTest("needs the tokenizers library")
        theirs = Tokenizer.from_file(str(MODELS / "hf" / "tokenizer.json"))
        for text in ("And it came to pass", "d\u00e9j\u00e0 vu \U0001f600", " two  spaces", "1234567"):
            self.assertEqual(self.ids(text, "--plain"), theirs.encode(text, add_special_tokens=False).ids)

    def test_from_stdin(self):
        path = self.write("text.txt", "And it came to pass\nin those days")
        with open(path) as file:
            from_stdin = self.ids(stdin=file)
        self.assertEqual(from_stdin, self.ids(path.read_text()))

    def test_rejects_bad_input(self):
        _, err = self.voltpile("tokenize", "missing.gguf", "text", expect=BAD_INPUT)
        self.assertIn("missing.gguf", err)
        path = self.folder / "bad.txt"
        path.write_bytes(b"ab\xff")
        with open(path) as file:
            _, err = self.voltpile("tokenize", MODEL, stdin=file, expect=BAD_INPUT)
        self.assertIn("stdin", err)


if __name__ == "__main__":
    unittest.main()
