"""Ranks that are suspended, hang or are cut off: the others name them, the job ends with exit code 4 and resumes. VOLTPILE_FAULT
makes that happen at a chosen place."""

import re
import signal
import time
import unittest

from harness import FAILED, PATIENCE, Case
from llm_case import LlmJob

SWEEP = ("--set", "sweep.x.count=12", "--set", "sweep.y.count=10", "--set", "integrate.steps=20000", "--set", "run.range_points=4")
SHORT_S = 2 * PATIENCE
SHORT = [word for key in ("silent", "commit", "collective", "transfer") for word in ("--set", f"watchdog.{key}_s={SHORT_S}")]
SHORT_COMPUTE = ("--set", f"watchdog.compute_s={SHORT_S}")


class HungRanks(Case):
    def hang(self, fault, ranks, rank, why, *arguments, besides=""):
        _, err = self.voltpile("run", self.job, "--output", "b.h5", *SHORT, *arguments, ranks=ranks, expect=FAILED,
                               environment={"VOLTPILE_FAULT": f"{fault.replace(':', f':rank={rank},')}{besides}"})
        named = re.search(r"error[^:]*: rank (\d) on [^: ]*:? (.*); run the same command again to go on", err)
        self.assertTrue(named, err)
        self.assertEqual(int(named[1]), rank, err)
        self.assertIn(why, named[2])
        self.assertIn("last step", err)  # the table of phases


class HungSweeps(HungRanks):
    def setUp(self):
        super().setUp()
        self.voltpile("run", self.job, "--output", "whole.h5", *SWEEP)

    def test_a_rank_that_hangs_is_named(self):
        for fault, rank, why in (("stop:range=1", 0, "has been silent for"), ("stop:range=1", 2, "has been silent for"),
                                 ("hang:range=1", 1, "compute has not moved for"),
                                 ("hang:write=3", 0, "commit has not moved for"),
                                 ("hang:write=3", 2, "commit has not moved for"),
                                 ("drop:message=6", 0, "has been silent for"), ("drop:message=6", 2, "has been silent for")):
            with self.subTest(fault=fault, rank=rank):
                self.hang(fault, 3, rank, why, *SWEEP, *SHORT_COMPUTE)
                self.voltpile("run", self.job, "--output", "b.h5", *SWEEP, ranks=3)
                self.assert_same_result("whole.h5", "b.h5")
                (self.folder / "b.h5").unlink()

    def test_a_single_rank_names_itself(self):
        self.hang("hang:range=2", None, 0, "compute has not moved for", *SWEEP, *SHORT_COMPUTE)

    def test_a_long_range_that_moves_is_not_ended(self):
        # One range of one point, four times as long as the deadline or longer. It moves several times in a second, on a busy
        # machine at least once.
        one = ("--set", "sweep.x.count=1", "--set", "sweep.y.count=1", "--set", "watchdog.compute_s=2")
        steps, seconds = 100_000, 0
        while seconds < 8:
            steps *= 3
            begin = time.monotonic()
            self.voltpile("run", self.job, "--output", "a.h5", "--fresh", *one, "--set", f"integrate.steps={steps}",
                          "--set", "integrate.dt=1e-9")
            seconds = time.monotonic() - begin


class Reports(Case):
    def test_sigusr2_prints_the_phases_and_the_job_goes_on(self):
        process = self.start("run", self.job, "--output", "a.h5", "--set", "run.range_points=20", "--set",
                             "sweep.x.count=40")
        self.wait_for_parts(self.folder / "a.h5", 2)
        process.send_signal(signal.SIGUSR2)
        _, err = self.finish(process)
        self.assertRegex(err, r"rank 0 on \S+ +dispatch +1 +\d+ +\d+\.\d s ago\n +compute +[01] +\d+ ")


class HungModels(HungRanks, LlmJob):
    def setUp(self):
        super().setUp()
        self.write_mixed()
        self.voltpile("run", self.job, "--output", "a.h5")
        self.whole = self.rows()

    def test_a_rank_that_hangs_is_named(self):
        for tensor, pipeline, fault, why in ((2, 1, "stop:collective=40", "has been silent for"),
                                             (2, 1, "hang:collective=40", "waits for it (collective"),
                                             (1, 2, "stop:range=2", "has been silent for"),
                                             (1, 2, "drop:message=60", "has been silent for"),
                                             (1, 1, "hang:range=1", "compute has not moved for")):
            for rank in (0, 1):
                if fault == "stop:range=2" and rank > 0:
                    continue  # only the leader submits rows
                with self.subTest(tensor=tensor, fault=fault, rank=rank):
                    cut = ("--set", f"engine.tensor={tensor}", "--set", f"engine.pipeline={pipeline}")
                    if fault == "hang:range=1":  # the other replica leaves enough to this one
                        cut += ("--set", f"watchdog.compute_s={4 * SHORT_S}")
                        self.hang(fault, 2, rank, why, *cut, besides=f"; delay:rank={1 - rank},ms=1000,range=1")
                    elif fault == "drop:message=60":  # both ranks wait for the other; only the silence tells which is cut off
                        self.hang(fault, 2, rank, why, *cut, "--set", f"watchdog.transfer_s={4 * SHORT_S}")
                    else:
                        self.hang(fault, 2, rank, why, *cut)
                    self.voltpile("run", self.job, "--output", "b.h5", *cut, ranks=2)
                    self.assert_same(self.rows("b.h5"), self.whole)
                    (self.folder / "b.h5").unlink()


if __name__ == "__main__":
    unittest.main()
