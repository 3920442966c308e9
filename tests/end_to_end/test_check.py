"""voltpile run --check: how right a result is, and that the check survives interruptions."""

import pathlib
import signal
import time
import unittest

import h5py
import numpy

from harness import BAD_INPUT, PATIENCE, STOPPED, Case

SHORT = ("--set", "sweep.x.count=12", "--set", "sweep.y.count=10", "--set", "integrate.steps=2000", "--set",
         'output.fields=["steps_together", "final_state", "energy_error"]')
ACCURATE = ("--set", "integrate.method=rkn8")


class Check(Case):
    def check(self, name):
        with h5py.File(self.folder / name) as file:
            group = file["check"]
            return {key: group[key][...] for key in group}, dict(group.attrs), \
                {key: dict(group[key].attrs) for key in group}

    def test_an_accurate_map_is_right_and_says_so(self):
        out, _ = self.voltpile("run", self.job, *SHORT, *ACCURATE, "--output", "a.h5", "--check", "50")
        self.assertRegex(out, r"(?m)^check: 50 points against rkn8 at 1e-14: steps_together within 0\.01 at 100 %")
        data, attributes, _ = self.check("a.h5")
        self.assertEqual(attributes["seed"], 1)
        self.assertEqual(list(attributes["fields"]), ["steps_together", "final_state"])
        sample = data["sample"]
        self.assertEqual(len(set(sample)), 50)
        self.assertEqual(sorted(sample), list(sample))
        with h5py.File(self.folder / "a.h5") as file:
            state = file["final_state"][:].reshape(120, 3, 6)[sample]
        numpy.testing.assert_array_equal(data["final_state_error"], state - data["final_state"])
        # Tolerance 1e-9 over two time units, far from encounters.
        self.assertLess(numpy.median(numpy.abs(data["final_state_error"]).max(axis=(1, 2))), 1e-6)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["a.h5", "map.toml"])
        self.voltpile("verify", "a.h5")
        out, _ = self.voltpile("show", "a.h5")
        self.assertRegex(out, r"(?m)^  check: 50 points against rkn8 at 1e-14: steps_together within ")

    def test_euler_differs_and_ranks_do_not_matter(self):
        self.voltpile("run", self.job, *SHORT, "--output", "a.h5", "--check", "40")
        self.voltpile("run", self.job, *SHORT, "--output", "b.h5", "--check", "40", ranks=3)
        a, b = self.check("a.h5"), self.check("b.h5")
        for name in a[0]:
            numpy.testing.assert_array_equal(a[0][name], b[0][name])
        error = numpy.abs(a[0]["final_state_error"]).max(axis=(1, 2))
        attributes = a[2]["final_state_error"]
        self.assertEqual(attributes["largest"], error.max())
        self.assertEqual(attributes["median"], numpy.sort(error)[19])
        self.assertEqual(attributes["shareWithin"], (error <= 0.01).mean())
        self.assertGreater(attributes["median"], 1e-5)  # first order, dt = 0.001

    def test_a_complete_result_is_checked_later_and_again(self):
        self.voltpile("run", self.job, *SHORT, *ACCURATE, "--output", "a.h5")
        values = (self.folder / "a.h5").read_bytes()
        self.voltpile("run", self.job, *SHORT, *ACCURATE, "--output", "a.h5", "--check", "10", ranks=2)
        self.assertEqual(len(self.check("a.h5")[0]["sample"]), 10)
        with_check = (self.folder / "a.h5").read_bytes()
        self.assertNotEqual(values, with_check)
        out, _ = self.voltpile("run", self.job, *SHORT, *ACCURATE, "--output", "a.h5", "--check", "10")
        self.assertIn("complete already", out)
        self.assertIn("check: 10 points", out)
        self.assertEqual((self.folder / "a.h5").read_bytes(), with_check)  # nothing was computed again
        self.voltpile("run", self.job, *SHORT, *ACCURATE, "--output", "a.h5", "--check", "200", "--set", "check.seed=5")
        data, attributes, _ = self.check("a.h5")
        self.assertEqual(list(data["sample"]), list(range(120)))  # all points
        self.assertEqual(attributes["seed"], 5)
        self.voltpile("verify", "a.h5")

    def test_a_stopped_check_resumes(self):
        slow = ("--set", "integrate.steps=100000", "--set", "stop.separation=inf", "--set", "run.range_points=4",
                "--set", "sweep.x.count=60", "--set", "sweep.y.count=50",
                "--set", "integrate.method=rkn8", "--set", "integrate.tolerance=1e-3",
                "--set", 'output.fields=["final_state"]', "--check", "3000")
        process = self.start("run", self.job, "--output", "a.h5", *slow)
        deadline = time.monotonic() + 60 * PATIENCE
        parts = []
        while len(parts) < 3 and time.monotonic() < deadline:
            parts = list(self.folder.glob("a.check-*.h5.parts/part-*.h5"))
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        self.finish(process, expect=STOPPED)
        self.assertTrue((self.folder / "a.h5").exists())
        out, _ = self.voltpile("run", self.job, "--output", "a.h5", *slow, ranks=2)
        self.assertIn("resuming: ", out)
        self.assertEqual(len(self.check("a.h5")[0]["sample"]), 3000)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["a.h5", "map.toml"])

    def test_bad_input_is_named(self):
        for arguments, says in (
            (("--check", "-1"), "--check"),
            (("--check", "5", "--set", 'output.fields=["energy_error"]'), "--set check.points=5: nothing to check"),
            (("--set", "check.reference_tolerance=1e-20"), "check.reference_tolerance = 1e-20"),
            (("--set", "check.within=0"), "check.within = 0"),
            (("--set", "check.sede=3"), "did you mean check.seed?"),
        ):
            with self.subTest(arguments=arguments):
                _, err = self.voltpile("run", self.job, *arguments, expect=BAD_INPUT)
                self.assertIn(says, err)
        _, err = self.voltpile("run", pathlib.Path(__file__).resolve().parents[2] / "jobs/llm/tiny_demo.toml", "--check",
                               "5", expect=BAD_INPUT)
        self.assertIn("check.points", err)


if __name__ == "__main__":
    unittest.main()
