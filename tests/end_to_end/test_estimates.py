"""What a plan estimates, beside what a run measures."""

import re
import unittest

import h5py
import numpy

from harness import SMALL, Case
from llm_case import LlmJob

ALONG_RANKS = {"rank", "processor", "busy_time", "planned_rate", "measured_rate", "planned_host_memory",
               "measured_host_memory", "planned_gpu_memory", "measured_gpu_memory"}


class Records(Case):
    def record(self, name):
        with h5py.File(self.folder / name) as file:
            group = file["plan"]
            return {key: group[key][...] for key in group}, dict(group.attrs)

    def test_a_result_holds_the_plan_and_what_was_measured(self):
        self.voltpile("run", self.job, *SMALL, "--output", "a.h5", ranks=2)
        data, attributes = self.record("a.h5")
        self.assertEqual(set(data), ALONG_RANKS)
        self.assertEqual((attributes["unit"], attributes["points"]), ("pair-steps", 35))
        for side in ("planned", "measured"):  # some pairs part before 100 steps
            self.assertLessEqual(attributes[f"{side}Work"], 35 * 100)
        for side in ("planned", "measured"):
            self.assertGreater(attributes[f"{side}Seconds"], 0)
            self.assertGreater(attributes[f"{side}StartSeconds"], 0)
        self.assertGreater(attributes["plannedEndSeconds"], 0)
        self.assertNotIn("measuredEndSeconds", attributes)
        self.assertEqual(data["rank"].tolist(), [0, 1])
        self.assertIn(b" core", data["processor"][0])
        # A program that has started MPI takes more than a megabyte, and the test's map less than a gigabyte.
        self.assertGreater(data["measured_host_memory"].min(), 1e6)
        self.assertLess(data["measured_host_memory"].max(), 1e9)
        self.assertTrue(numpy.isnan(data["measured_gpu_memory"]).all())
        total = data["measured_rate"].sum() * attributes["measuredSeconds"]
        self.assertAlmostEqual(total / attributes["measuredWork"], 1, places=9)
        shown, _ = self.voltpile("show", "a.h5")
        self.assertRegex(shown, r"(?m)^  plan +planned +measured +difference$")
        self.assertRegex(shown, r"(?m)^  time +\S+ \S+ +\S+ \S+ +[-+]\S+ %$")
        self.assertRegex(shown, r"(?m)^  start +\S+ \S+ +\S+ \S+ +[-+]\S+ %$")
        self.assertRegex(shown, r"(?m)^  end +\S+ \S+ +-$")
        self.voltpile("verify", "a.h5")

    def test_xarray_opens_the_plan(self):
        self.voltpile("run", self.job, *SMALL, "--output", "a.h5")
        with self.open_dataset("a.h5", group="plan") as data:
            self.assertEqual(data.planned_rate.dims, ("rank",))
            self.assertEqual(data.planned_rate.attrs["units"], "pair-steps/s")

    def test_only_the_points_of_the_last_run_count(self):
        self.voltpile("run", self.job, *SMALL, "--output", "a.h5", "--shard", "0/5")
        self.voltpile("run", self.job, *SMALL, "--output", "a.h5")
        self.assertEqual(self.record("a.h5")[1]["points"], 28)

    def test_an_axis_may_not_have_the_name_of_a_group(self):
        job = self.write("named.toml", self.job.read_text().replace('name = "x"', 'name = "plan"'))
        _, err = self.voltpile("run", job, "--output", "a.h5", expect=2)
        self.assertIn('the name "plan" of a sweep axis is already that of a group of the result: rename', err)


class Calibrate(Case):
    def setUp(self):
        super().setUp()
        self.settings = {"XDG_CACHE_HOME": str(self.folder / "cache")}

    def calibrate(self, *arguments, expect=0):
        return self.voltpile("calibrate", *arguments, environment=self.settings, expect=expect)

    def test_measures_once_and_plans_use_it(self):
        self.assertIn("not calibrated", self.calibrate("--print")[0])
        plan = ("plan", self.job, "--explain")
        self.assertNotIn("calibrated", self.voltpile(*plan, environment=self.settings)[0])
        out, _ = self.calibrate()
        for rate in ("run starts", "run ends", "threebody euler fp64", "threebody rkn8 fp64", "llm weights", "llm prompt"):
            self.assertRegex(out, rf"(?m)^{rate} +\S+ /s ")
        files = list((self.folder / "cache/voltpile").glob("calibration-*.toml"))
        self.assertEqual(len(files), 1)
        self.assertIn("threebody euler fp64", self.calibrate("--print")[0])
        out, _ = self.voltpile(*plan, environment=self.settings)
        self.assertRegex(out, r"(?m)^calibrated on \d{4}-\d\d-\d\d \d\d:\d\d by voltpile ")
        self.assertRegex(out, r"pair-steps/s a core as calibrated on")
        self.assertRegex(out, r"(?m)^  time to start and to end = \S+ s \+ \S+ s, beside")
        self.assertFalse(list((self.folder / "cache/voltpile").glob("calibrate-*")))  # where the runs were measured
        self.voltpile("run", self.job, *SMALL, "--output", "a.h5", environment=self.settings, ranks=2)

        text = files[0].read_text()
        for old, new, why in (('host = "', 'host = "another-', "is the calibration of another machine"),
                              ('\nversion = "', '\nversion = "0.0.', "was measured by voltpile 0.0."),
                              ("per_s =", "per_second =", "unknown key per_second")):
            files[0].write_text(text.replace(old, new, 1))
            out, _ = self.voltpile(*plan, environment=self.settings, ranks=2)
            self.assertNotIn("calibrated on", out)
            self.assertEqual(out.count(why), 1, out)
        self.assertIn("removed", self.calibrate("--clear")[0])
        self.assertFalse(files[0].exists())
        self.assertIn("not calibrated", self.calibrate("--clear")[0])

    def test_says_what_it_needs(self):
        _, err = self.voltpile("calibrate", environment=self.settings, ranks=2, expect=2)
        self.assertEqual(err.count("start one process, without mpirun"), 1, err)
        _, err = self.voltpile("calibrate", "--clear", environment={"XDG_CACHE_HOME": "", "HOME": ""}, expect=3)
        self.assertIn("neither XDG_CACHE_HOME nor HOME is set", err)


TOO_SMALL = """
[[host]]
name = "small"
count = 1
cpu = "some processor"
cpu_ghz = 2.0
simd_bits = 256
sockets = 1
cores_per_socket = 4
memory_gb = 64

[[host.gpu]]
count = 1
name = "two thirds of a gigabyte"
compute_capability = 70
multiprocessors = 80
clock_ghz = 1.5
memory_gb = 0.7
"""


class Fits(Case):
    def test_a_sweep_that_fills_a_gpu_is_refused_with_a_grid_that_fits(self):
        cluster = self.write("small.toml", TOO_SMALL)
        large = [self.job, "--cluster", cluster, "--set", "sweep.x.count=5000", "--set", "sweep.y.count=5000",
                 "--set", 'output.fields=["final_state"]', "--set", "run.device=gpu"]
        _, err = self.voltpile("plan", *large, expect=3)
        self.assertRegex(err, r"rank 0 needs \S+ \S+ of memory on GPU 0 \(two thirds of a gigabyte\) of small, which has 7\d\d MB")
        counts = re.search(r"largest grid of this shape that fits has x = ([\d,]+), y = ([\d,]+)", err).groups()
        fitting = [f"sweep.{name}.count={count.replace(',', '')}" for name, count in zip("xy", counts)]
        out, _ = self.voltpile("plan", *large, "--set", fitting[0], "--set", fitting[1], "--explain")
        self.assertIn("GPU memory = ", out)

    def test_a_plan_says_what_the_disk_needs(self):
        out, _ = self.voltpile("plan", self.job, *SMALL)
        self.assertRegex(out, r"(?m)^disk: \S+ \S+ while it is computed \(\S+ \S+ for parts, \S+ \S+ for the result\); "
                              r"the file system of \S+ has \S+ \S+ free$")

    def test_a_grid_that_fills_the_disk_is_refused_with_one_that_fits(self):
        _, err = self.voltpile("plan", self.job, "--set", "sweep.x.count=30000000", "--set",
                               "sweep.y.count=3000000", expect=3)
        self.assertRegex(err, r"the largest grid of this shape that fits has x = [\d,]+, y = [\d,]+")

    def test_a_model_that_is_too_large_is_refused_with_one_that_fits(self):
        job = self.write("llm.toml", """
app = "llm"
[model]
synthetic = "llama-3-70b"
[prompts]
files = ["prompts.jsonl"]
[engine]
context = 512
""")
        self.write("prompts.jsonl", '{"prompt": "abc", "max_tokens": 4}\n')
        _, err = self.voltpile("plan", job, "--cluster", "desktop_3060_1060", expect=3)
        # 12 and 6 GB at 34 bytes for 32 weights hold less than 17e9 of them, and two equal halves more than 4e9.
        billions = float(re.search(r"a model of at most (\S+) billion parameters", err).group(1))
        self.assertLess(billions, 17)
        self.assertGreater(billions, 4)


class LlmRecords(LlmJob):
    def test_a_job_of_prompts_records_tokens(self):
        self.write_mixed(5)
        self.voltpile("run", self.job, "--output", "a.h5")
        with h5py.File(self.folder / "a.h5") as file:
            attributes = dict(file["plan"].attrs)
        self.assertEqual((attributes["unit"], attributes["points"]), ("tokens", 5))
        self.assertNotIn("plannedStartSeconds", attributes)  # how long a model loads is not planned
        self.assertGreater(attributes["measuredStartSeconds"], 0)
        self.assertGreater(attributes["measuredWork"], 0)


if __name__ == "__main__":
    unittest.main()
