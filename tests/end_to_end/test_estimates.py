"""What a plan estimates, beside what a run measures."""

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
        self.assertEqual(attributes["plannedWork"], 35 * 100)
        self.assertLessEqual(attributes["measuredWork"], 35 * 100)
        for side in ("planned", "measured"):
            self.assertGreater(attributes[f"{side}Seconds"], 0)
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
        self.voltpile("verify", "a.h5")

    def test_xarray_opens_the_plan(self):
        import xarray

        self.voltpile("run", self.job, *SMALL, "--output", "a.h5")
        with xarray.open_dataset(self.folder / "a.h5", group="plan", engine="h5netcdf") as data:
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


class LlmRecords(LlmJob):
    def test_a_job_of_prompts_records_tokens(self):
        self.write_mixed(5)
        self.voltpile("run", self.job, "--output", "a.h5")
        with h5py.File(self.folder / "a.h5") as file:
            attributes = dict(file["plan"].attrs)
        self.assertEqual((attributes["unit"], attributes["points"]), ("tokens", 5))
        self.assertGreater(attributes["measuredWork"], 0)


if __name__ == "__main__":
    unittest.main()
