"""Reads results with the field's tools; checks progress, version, help and memory use."""

import fcntl
import itertools
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

import h5py
import numpy

from harness import ENVIRONMENT, MPIRUN, SOURCE, STOPPED, VOLTPILE, Case

HERE = pathlib.Path(__file__).resolve().parent


class Reading(Case):
    def test_every_smoke_job_runs_and_reads_with_h5py_and_xarray(self):
        self.need_xarray()
        jobs = sorted((SOURCE / "jobs/smoke").glob("*.toml"))
        self.assertGreaterEqual(len(jobs), 4)
        for job in jobs:
            with self.subTest(job=job.name):
                result = f"{job.stem}.h5"
                self.voltpile("run", job, "--output", result, ranks=2)
                out, _ = self.voltpile("show", result)
                self.assertIn("complete", out)
        results = [self.folder / f"{job.stem}.h5" for job in jobs]  # at once, because xarray takes a second to load
        subprocess.run([sys.executable, HERE / "read_result.py", *results], check=True)

    def test_parts_with_seals_open_in_h5py(self):
        for part in self.parts(self.unfinished_result()):
            self.assertEqual(part.read_bytes()[-64:-56], b"VPSEAL01")
            with h5py.File(part) as file:
                points = int(file.attrs["end"]) - int(file.attrs["begin"])
                self.assertEqual(file["steps_together"][()].shape, (points,))
        self.voltpile("verify", "--parts", "stopped.h5")

    def test_every_shipped_job_plans(self):
        # Jobs of the llm app need models: test_llm_rejections plans them.
        jobs = [job for job in sorted((SOURCE / "jobs").rglob("*.toml")) if job.parent.name != "llm"]
        self.assertGreaterEqual(len(jobs), 6)
        # All pairs of job and machine would take minutes: machines take turns, so that each plans several jobs.
        machines = itertools.cycle(sorted((SOURCE / "data/clusters").glob("*.toml")))
        for job in jobs:
            with self.subTest(job=job.name):
                self.voltpile("plan", job)
                for machine in itertools.islice(machines, 3):
                    self.voltpile("plan", job, "--cluster", machine)

    def test_the_published_map_through_the_whole_program(self):
        # Row 83 and row 250 of the published map; golden sums over columns 0..991 (see docs/numerics.md).
        for row, expected in ((83, 49_600_000), (250, 42_183_566)):
            self.voltpile("run", SOURCE / "jobs/threebody/seed_map.toml", "--output", "row.h5", "--fresh", "--set",
                          f"sweep.y.from={-20 + 40 * row / 1000}", "--set", "sweep.y.count=1", ranks=2)
            with h5py.File(self.folder / "row.h5") as file:
                self.assertEqual(file["steps_together"].shape, (1, 1000))
                self.assertEqual(int(file["steps_together"][0, :992].sum(dtype=numpy.int64)), expected)
                self.assertEqual(file["y"][0], -20 + 40 * row / 1000)

    def test_result_records_its_provenance(self):
        self.voltpile("run", self.job, "--output", "a.h5", "--set", "integrate.steps=50", ranks=2)
        with h5py.File(self.folder / "a.h5") as file:
            text = {name: str(value) for name, value in file.attrs.items()}
            self.assertEqual(text["software"], "voltpile")
            self.assertEqual(file.attrs["jobFile"], self.job.read_text())
            self.assertIn("integrate.steps=50", text["commandLine"])
            self.assertIn("integrate.steps=50", text["jobOverrides"])
            self.assertRegex(text["date"], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}$")
            self.assertRegex(text["softwareVersion"], r"^\d+\.\d+\.\d+$")
            for name in ("machine", "author", "gitRevision"):
                self.assertTrue(text[name])

    def test_plot_writes_pictures_of_whole_pixels(self):
        self.voltpile("run", self.job, "--output", "a.h5", "--set", "integrate.steps=5000")
        self.voltpile("plot", "a.h5")
        self.voltpile("plot", "a.h5", "--bare", "--output", "bare.png")
        self.voltpile("plot", "a.h5", "--field", "energy_error", "--bare", "--output", "energy.png")
        sizes = {}
        for name in ("a.png", "bare.png", "energy.png"):
            content = (self.folder / name).read_bytes()
            self.assertEqual(content[:8], b"\x89PNG\r\n\x1a\n")
            sizes[name] = struct.unpack(">II", content[16:24])
        self.assertEqual(sizes["bare.png"], (7 * 120, 7 * 100))  # the smallest whole pixels that reach 800
        self.assertEqual(sizes["energy.png"], sizes["bare.png"])
        # Around the field: at least a title of two lines, two lines of text below, a color bar and its numbers.
        self.assertGreater(sizes["a.png"][0], 7 * 120 + 100)
        self.assertGreater(sizes["a.png"][1], 7 * 100 + 60)

    LONG = ("--set", "integrate.steps=2000000", "--set", "sweep.x.count=2000", "--set", "stop.separation=inf",
            "--set", "run.range_points=16")
    LINE = r"map \[[#.]{20}\] +\d+\.\d %  \S+ pair-steps/s  elapsed \S+ s  left [^\r\n]+  \d ranks?"

    def test_progress_is_a_plain_line_every_ten_seconds_without_a_terminal(self):
        _, err = self.voltpile("run", self.job, *self.LONG, "--set", "run.time_limit_s=11", ranks=2, expect=STOPPED)
        self.assertEqual(len(re.findall(self.LINE + r"\n", err)), 1, err)
        self.assertNotIn("\r", err)
        self.assertNotIn("\x1b", err)

    def test_progress_is_one_live_line_on_a_terminal(self):
        for ranks in (None, 2):
            ours, theirs = os.openpty()
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
            process = subprocess.Popen(
                self.command("run", self.job, *self.LONG, "--set", "run.time_limit_s=1.5", "--fresh", ranks=ranks),
                cwd=self.folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
            os.close(theirs)
            seen = b""
            try:
                while chunk := os.read(ours, 4096):
                    seen += chunk
            except OSError:  # the program has closed the terminal
                pass
            os.close(ours)
            self.assertEqual(process.wait(), STOPPED)
            text = seen.decode()
            self.assertGreaterEqual(len(re.findall("\r\x1b\\[K" + self.LINE, text)), 3, repr(text))
            live = text.split("stopping when")[0]
            self.assertNotIn("\n", live)  # the line is overwritten, not repeated


class Itself(Case):
    def test_version(self):
        out, _ = self.voltpile("--version")
        self.assertRegex(out, r"^voltpile \d+\.\d+\.\d+ \(git [0-9a-f]{12}\+?|unknown\)")
        for word in ("CUDA", "NCCL", "UCX", "Apache License 2.0"):
            self.assertIn(word, out)

    def test_help_everywhere(self):
        for command in ((), ("run",), ("plan",), ("show",), ("plot",), ("help",), ("bench",), ("bench", "threebody")):
            out, _ = self.voltpile(*command, "--help")
            self.assertIn("--help", out)
        out, _ = self.voltpile("--help")
        for code in range(2, 6):
            self.assertIn(f" {code} ", out)
        out, _ = self.voltpile("help", "job", "threebody")
        for key in ("[system]", "mass", "dt", "separation", "range_seconds"):
            self.assertIn(key, out)

    def test_docs_job_file_is_what_the_program_says(self):
        out, _ = self.voltpile("help", "job", "--markdown")
        self.assertEqual(out, (SOURCE / "docs/job_file.md").read_text(), "run: voltpile help job --markdown > docs/job_file.md")

    def test_help_under_mpirun_is_printed_once(self):
        out, _ = self.voltpile("--version", ranks=3)
        self.assertEqual(out.count("Apache"), 1)


class Size(Case):
    """The memory of a rank does not grow with the sweep."""

    def peak_kb(self, *arguments, ranks=None):
        command = ["/usr/bin/env", "python3", "-c",
                   "import resource,subprocess,sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL);"
                   "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)", *self.command(*arguments)]
        return int(subprocess.run(command, cwd=self.folder, env=ENVIRONMENT, capture_output=True, text=True).stdout)

    BILLION = ("--set", "sweep.x.count=40000", "--set", "sweep.y.count=25000", "--set", "integrate.steps=20")

    # Parts and result of a billion points of 12 bytes.
    @unittest.skipIf(shutil.disk_usage(tempfile.gettempdir()).free < 25e9, "needs 24 GB free, of which it uses little")
    def test_a_billion_points(self):
        start = time.monotonic()
        out, _ = self.voltpile("plan", self.job, *self.BILLION)
        self.assertIn("1,000,000,000", out)
        self.assertLess(time.monotonic() - start, 5)  # a plan must not enumerate points; it takes 0.1 s
        limit = ("--set", "run.time_limit_s=2", "--set", "run.range_seconds=0.2")
        small = self.peak_kb("run", self.job, "--output", "s.h5", "--set", "integrate.steps=2000", *limit)
        large = self.peak_kb("run", self.job, "--output", "l.h5", *self.BILLION, *limit)
        self.assertTrue(self.parts(self.folder / "l.h5"))
        # All results together, 12 bytes a point, would take 12 GB; a few ranges of 0.2 s are in memory at once.
        self.assertLess(large - small, 200_000)
        out, _ = self.voltpile("show", "l.h5")
        self.assertIn("1,000,000,000", out)


if __name__ == "__main__":
    unittest.main()
