"""Jobs of the llm app that are stopped or run out of disk resume with the same rows. test_kill_storm.py kills them."""

import signal
import unittest

from harness import DONE, FAILED, PATIENCE, STOPPED
from llm_case import LlmJob


class Interrupted(LlmJob):
    def setUp(self):
        super().setUp()
        self.write_mixed()
        self.voltpile("run", self.job, "--output", "a.h5")
        self.whole = self.rows()

    def go_on(self, ranks=None):
        self.voltpile("run", self.job, "--output", "b.h5", ranks=ranks)
        if ranks is None:
            self.assertEqual(self.rows("b.h5"), self.whole)
        else:
            self.assert_same(self.rows("b.h5"), self.whole)

    def answer_more_prompts(self):
        """Makes the job four times as long."""
        self.write_mixed(4 * len(self.whole))
        self.voltpile("run", self.job, "--output", "a.h5", "--fresh")
        self.whole = self.rows()

    def stop_between_rows(self, number, *arguments, ranks):
        """Sends the signal once rows are committed. Makes the job longer until the signal comes before its end."""
        result = self.folder / "b.h5"
        while True:
            result.unlink(missing_ok=True)
            process = self.start_with_parts(2, *arguments, ranks=ranks)
            process.send_signal(number)
            out, err = self.finish(process, expect=None)
            if not result.exists():
                self.assertEqual(process.returncode, STOPPED, err)
                return out
            self.answer_more_prompts()

    def test_by_signals(self):
        # (signal, ranks, tensor, pipeline); of these signals mpirun forwards only SIGUSR1
        for number, ranks, tensor, pipeline in ((signal.SIGINT, None, 1, 1), (signal.SIGTERM, None, 1, 1),
                                                (signal.SIGUSR1, 2, 1, 1), (signal.SIGUSR1, 4, 2, 2)):
            with self.subTest(signal=number, ranks=ranks):
                out = self.stop_between_rows(number, "--set", f"engine.tensor={tensor}", "--set",
                                             f"engine.pipeline={pipeline}", ranks=ranks)
                self.assertIn("run the same command again", out)
                self.go_on(ranks)

    def test_time_limit_keeps_finished_rows(self):
        # The limit grows, because a busy machine may not answer a prompt in any fixed time.
        limit, stopped = 0.05, 0
        while limit < 60:
            process = self.start("run", self.job, "--output", "b.h5", "--set", f"run.time_limit_s={limit}", "--set",
                                 "run.range_seconds=0.01", "--set", "run.range_points=8")
            process.communicate(timeout=120 * PATIENCE)
            self.assertIn(process.returncode, (DONE, STOPPED))
            if process.returncode == DONE:
                break
            limit *= 1.3
            stopped += 1
        self.assertGreater(stopped, 0)
        self.assertEqual(self.rows("b.h5"), self.whole)

    def test_a_full_disk(self):
        for ranks in (None, 2):  # two ranks share the layers
            with self.subTest(ranks=ranks):
                (self.folder / "b.h5").unlink(missing_ok=True)
                _, err = self.voltpile("run", self.job, "--output", "b.h5", ranks=ranks, file_limit=3000, expect=FAILED)
                self.assertIn("b.h5", err)
                self.go_on(ranks)

if __name__ == "__main__":
    unittest.main()
