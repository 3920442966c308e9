"""Signals at any moment, and a stderr that takes nothing: neither changes what a job computes or its exit code."""

import os
import pathlib
import signal
import subprocess
import time
import unittest

from harness import BAD_INPUT, DONE, ENVIRONMENT, PATIENCE, STOPPED, VOLTPILE, Case

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
MANY_RANGES = ("--set", "run.range_points=20")  # 600 of them, some seconds of computing


def blocked_signals(pid):
    """Those that the main thread of a process keeps pending."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigBlk:"):
            mask = int(line.split()[1], 16)
            return {number for number in range(1, 65) if mask >> (number - 1) & 1}
    return set()


class Streams(Case):
    """Targets of a shell's `2>`: a full disk, a closed descriptor, or a pipe without a reader."""

    def broken(self, name, *arguments, **options):
        options = {"cwd": self.folder, "env": ENVIRONMENT, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "text": True, **options}
        if name == "closed":
            return subprocess.Popen(["sh", "-c", 'exec "$0" "$@" 2>&-', *map(str, arguments)], **options)
        if name == "full":
            with open("/dev/full", "w", encoding="ascii") as full:
                return subprocess.Popen([*map(str, arguments)], stderr=full, **options)
        read_end, write_end = os.pipe()
        os.close(read_end)
        process = subprocess.Popen([*map(str, arguments)], stderr=write_end, **options)
        os.close(write_end)
        return process

    def end(self, process, expect):
        out, _ = process.communicate(timeout=120 * PATIENCE)
        self.assertEqual(process.returncode, expect, out)
        return out

    def test_a_job_survives_a_broken_stderr(self):
        self.voltpile("run", self.job, "--output", "whole.h5", "--set", "run.threads=0")
        for name in ("full", "closed", "pipe"):
            with self.subTest(stderr=name):
                result = self.folder / f"{name}.h5"
                job = self.broken(name, VOLTPILE, "run", self.job, "--output", result, *MANY_RANGES)
                self.wait_for_parts(result, 2)
                job.send_signal(signal.SIGTERM)  # it says on stderr that it stops
                self.assertIn("run the same command again", self.end(job, STOPPED))
                job = self.broken(name, VOLTPILE, "run", self.job, "--output", result, *MANY_RANGES, "--set", "run.threads=0")
                self.assertIn("result: ", self.end(job, DONE))
                self.assert_same_result("whole.h5", result.name)

    def test_errors_keep_their_exit_code(self):
        for name in ("full", "closed", "pipe"):
            for arguments in (("run", "nope.toml"), ("run",), ("show", "nope.h5"), ("no-such-command",)):
                with self.subTest(stderr=name, arguments=arguments):
                    self.end(self.broken(name, VOLTPILE, *arguments), BAD_INPUT)

    def test_warnings_survive_a_broken_stderr(self):
        few = ("--set", "sweep.x.count=2", "--set", "sweep.y.count=1", "--set", "integrate.steps=100")
        command = self.command("run", self.job, "--output", "few.h5", *few, ranks=4)
        for name in ("full", "closed", "pipe"):
            with self.subTest(stderr=name):
                self.end(self.broken(name, *command, "--fresh"), DONE)

    def test_a_reader_of_stdout_that_leaves_ends_show_quietly(self):
        self.voltpile("run", self.job, "--output", "a.h5", "--set", "integrate.steps=100")
        read_end, write_end = os.pipe()
        os.close(read_end)
        show = subprocess.Popen([VOLTPILE, "show", "a.h5"], cwd=self.folder, stdout=write_end, stderr=subprocess.PIPE)
        os.close(write_end)
        self.assertEqual(show.communicate(timeout=60 * PATIENCE)[1], b"")
        self.assertEqual(show.returncode, -signal.SIGPIPE)

    def test_a_reader_of_stdout_that_leaves_does_not_end_a_job(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        job = subprocess.Popen([VOLTPILE, "run", self.job, "--output", "a.h5", "--set", "integrate.steps=100"],
                               cwd=self.folder, env=ENVIRONMENT, stdout=write_end, stderr=subprocess.PIPE)
        os.close(write_end)
        job.communicate(timeout=60 * PATIENCE)
        self.fields("a.h5")  # complete


class Signals(Case):
    def run_with_signal(self, number, send, *options):
        """send(process) says when it is time."""
        job = self.start("run", self.job, "--output", "a.h5", "--fresh", *options)
        send(job)
        job.send_signal(number)
        out, err = self.finish(job, expect=None)
        return job.returncode, out + err

    @staticmethod
    def wait_until_blocked(job):
        """A signal can stop the job from the first moments of main() on."""
        deadline = time.monotonic() + 30 * PATIENCE
        while not blocked_signals(job.pid) >= set(STOP_SIGNALS):
            assert time.monotonic() < deadline
            time.sleep(0.001)

    def test_a_signal_stops_the_job_at_any_moment(self):
        for delay_ms in (0, 20, 100, 300, 600):
            for number in STOP_SIGNALS:
                def send(job, delay_s=delay_ms / 1000):
                    self.wait_until_blocked(job)
                    time.sleep(delay_s)
                with self.subTest(delay_ms=delay_ms, signal=number):
                    code, text = self.run_with_signal(number, send, *MANY_RANGES)
                    self.assertEqual(code, STOPPED, text)

    def test_a_short_job_ends_stopped_or_done(self):
        for delay_ms in range(0, 200, 20):
            def send(job, delay_s=delay_ms / 1000):
                self.wait_until_blocked(job)
                time.sleep(delay_s)
            with self.subTest(delay_ms=delay_ms):
                code, text = self.run_with_signal(signal.SIGTERM, send, "--set", "integrate.steps=20", "--set",
                                                  "sweep.x.count=10")
                self.assertIn(code, (DONE, STOPPED), text)

    def test_signals_after_the_result_change_nothing(self):
        for number in STOP_SIGNALS:
            with self.subTest(signal=number):
                job = self.start("run", self.job, "--output", "a.h5", "--fresh", "--set", "integrate.steps=20")
                for line in job.stdout:
                    if line.startswith("result: "):
                        break
                for _ in range(3):
                    job.send_signal(number)
                    time.sleep(0.002)
                self.finish(job, expect=DONE)


if __name__ == "__main__":
    unittest.main()
