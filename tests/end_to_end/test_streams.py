"""Standard streams that are closed, full or read only once: a clear exit code, never an abort."""

import os
import shlex
import subprocess
import unittest

import h5py

from harness import BAD_INPUT, CANNOT_RUN, DONE, ENVIRONMENT, FAILED, PATIENCE, SOURCE, TINY, VOLTPILE, Case

QUICK = ("--set", "integrate.steps=500", "--set", "run.range_points=100")


class Streams(Case):
    def shell(self, line, expect, timeout=120):
        """Runs the program by a shell, with redirections, and returns its stderr."""
        done = subprocess.run(["sh", "-c", line.replace("voltpile", shlex.quote(VOLTPILE), 1)], cwd=self.folder,
                              env=ENVIRONMENT, capture_output=True, text=True, timeout=timeout * PATIENCE)
        self.assertEqual(done.returncode, expect, f"{line}\n{done.stdout}\n{done.stderr}")
        return done.stderr

    def test_broken_stderr_keeps_the_exit_code(self):
        for redirection in ("2>/dev/full", "2>&-", "1>&- 2>&-", "0>&- 1>&- 2>&-"):
            for arguments in ("run nope.toml", "show nope.h5", "plan nope.toml", "fly", "run --color", "model info nope.gguf",
                              "generate nope.gguf text"):
                with self.subTest(arguments=arguments, redirection=redirection):
                    self.shell(f"voltpile {arguments} {redirection}", BAD_INPUT)

    def test_closed_streams_lead_to_dev_null(self):
        self.voltpile("run", self.job, "--output", "a.h5", *QUICK)
        for arguments in ("--help", "--version", "help job threebody", "show a.h5", f"plan {self.job}"):
            with self.subTest(arguments=arguments):
                self.shell(f"voltpile {arguments} 0>&- 1>&- 2>&-", DONE)

    def test_full_stdout_is_reported_once(self):
        self.voltpile("run", self.job, "--output", "a.h5", *QUICK)
        for arguments in ("--help", "--version", "help job threebody", "show a.h5", f"plan {self.job}", "list",
                          "export a.h5 --csv", "export a.h5 --jsonl"):
            with self.subTest(arguments=arguments):
                err = self.shell(f"voltpile {arguments} >/dev/full", FAILED)
                self.assertEqual(err.count("stdout"), 1, err)
                self.shell(f"voltpile {arguments} >/dev/full 2>&1", FAILED)

    def test_a_run_with_closed_streams_keeps_its_result_clean(self):
        """No file of the result gets the number of stdout or stderr, so that nothing is printed into it."""
        self.shell(f"voltpile run {TINY} --output a.h5 0>&- 1>&- 2>&-", DONE)
        self.voltpile("run", TINY, "--output", "b.h5")
        self.assert_same_result("a.h5", "b.h5")

    def test_reads_a_job_from_a_pipe(self):
        self.shell(f"cat {TINY} | voltpile run /dev/stdin --output a.h5", DONE)
        self.voltpile("run", TINY, "--output", "b.h5")
        self.assert_same_result("a.h5", "b.h5")
        self.shell(f"cat {TINY} | voltpile plan /dev/stdin", DONE)
        self.shell(f"voltpile run /dev/stdin --output c.h5 < {TINY}", DONE)

    def test_several_ranks_reject_a_job_from_a_pipe(self):
        with open(TINY, "rb") as job:
            reader, writer = os.pipe()
            os.write(writer, job.read())
            os.close(writer)
        with os.fdopen(reader) as pipe:
            _, err = self.voltpile("run", "/dev/stdin", "--output", "a.h5", ranks=2, expect=BAD_INPUT, stdin=pipe)
        self.assertEqual(err.count("several ranks cannot read a piped job file"), 1, err)

    def test_recorded_command_line_can_be_replayed(self):
        job = self.folder / "it's a \"job\" $x.toml"
        job.write_text(TINY.read_text())
        arguments = ["run", str(job), "--output", "o'clock.h5"]
        self.voltpile(*arguments)
        with h5py.File(self.folder / "o'clock.h5") as file:
            line = file.attrs["commandLine"]
        words = subprocess.run(["sh", "-c", f"printf '%s\\0' {line}"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(words.split("\0")[1:-1], arguments)

    def test_raises_a_small_stack_limit(self):
        """The limit is raised; only where the hard limit forbids that (not for root) the program refuses to start."""
        tokenize = f"tokenize {SOURCE / 'data/tiny_model/tiny-f16.gguf'} 'And it came to pass' --plain"  # PCRE2's stack
        for arguments, expect in (("--version", DONE), ("show nope.h5", BAD_INPUT), (tokenize, DONE),
                                  (f"run {TINY} --output a.h5", DONE)):
            with self.subTest(arguments=arguments):
                self.shell(f"ulimit -Ss 64; exec voltpile {arguments}", expect)
        line = f"ulimit -s 64; exec {shlex.quote(VOLTPILE)} {tokenize}"
        done = subprocess.run(["sh", "-c", line], env=ENVIRONMENT, capture_output=True, text=True, check=False)
        if done.returncode != DONE:
            self.assertEqual((done.returncode, done.stdout), (CANNOT_RUN, ""), done.stderr)
            self.assertIn("the stack is limited to 64 KiB", done.stderr)


if __name__ == "__main__":
    unittest.main()
