"""Disks that fail and writes that are cut short, by VOLTPILE_FAULT: the job says so and resumes."""

import unittest

from harness import BAD_INPUT, DONE, FAILED, Case

SWEEP = ("--set", "sweep.x.count=12", "--set", "sweep.y.count=10", "--set", "integrate.steps=1000", "--set", "run.range_points=30")
COMMIT = 20  # a write in the middle of the commits of one rank


class Faults(Case):
    def setUp(self):
        super().setUp()
        self.voltpile("run", self.job, "--output", "whole.h5", *SWEEP)

    def run_with(self, fault, expect, ranks=None):
        return self.voltpile("run", self.job, "--output", "a.h5", *SWEEP, ranks=ranks, expect=expect,
                             environment={"VOLTPILE_FAULT": fault})

    def resume(self):
        self.voltpile("run", self.job, "--output", "a.h5", *SWEEP)
        self.assert_same_result("whole.h5", "a.h5")
        self.voltpile("verify", "a.h5")
        (self.folder / "a.h5").unlink()

    def test_failing_disks_end_the_job_and_lose_nothing(self):
        for fault, says in (("enospc", "No space left on device"), ("eio", "Input/output error")):
            for ranks, rank, number in ((None, 0, COMMIT), (2, 1, 6)):
                with self.subTest(fault=fault, rank=rank):
                    _, err = self.run_with(f"{fault}:rank={rank},write={number}", FAILED, ranks)
                    self.assertIn(says, err)
                    self.resume()

    def test_short_writes_and_delays_change_nothing(self):
        for fault in (f"short:write={COMMIT}; short:write={COMMIT + 1}", f"delay:ms=200,write={COMMIT}; delay:ms=100,range=2"):
            with self.subTest(fault=fault):
                self.run_with(fault, DONE)
                self.assert_same_result("whole.h5", "a.h5")
                (self.folder / "a.h5").unlink()

    def test_a_misspelled_fault_is_an_error(self):
        _, err = self.run_with("kil:write=1", BAD_INPUT)
        self.assertIn("unknown action 'kil'", err)


if __name__ == "__main__":
    unittest.main()
