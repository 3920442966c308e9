"""`voltpile launch` on one host whose GPUs a stand-in NVML plays back (tests/stand_in)."""

import json
import os
import pathlib
import signal
import time
import unittest

from harness import BAD_INPUT, CANNOT_RUN, PATIENCE, SLOW, SOURCE, STOPPED, Case, stand_in


class Launch(Case):
    def setUp(self):
        super().setUp()
        self.node = json.loads((SOURCE / "tests/stand_in/t180.json").read_text())
        self.gpus = self.node["gpus"]
        self.play()

    def play(self):
        """The next process that reads the GPUs sees what self.node says."""
        described = self.write("node.new", json.dumps(self.node))
        described.rename(self.folder / "node.json")
        self.environment = stand_in(self.folder / "node.json")

    def launch(self, *options):
        process = self.start("launch", self.job, "--ranks", "1", "--output", "a.h5", *SLOW, *options,
                             environment=self.environment)
        self.addCleanup(process.kill)
        return process

    def kill_rank(self, launch):
        for child in pathlib.Path(f"/proc/{launch.pid}/task/{launch.pid}/children").read_text().split():
            if b"\0run\0" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes():
                os.kill(int(child), signal.SIGKILL)
                return
        self.fail("the launch has no rank")

    def read_until(self, process, text):
        """Returns the lines up to the one that begins with the text."""
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith(text):
                return lines
        self.fail(f"no line begins with {text}:\n{''.join(lines)}")

    def test_resumes_once_the_memory_of_the_gpus_is_free(self):
        launch = self.launch()
        self.wait_for_parts(self.folder / "a.h5", 3)
        used = self.gpus[0]["memory_used_bytes"]
        self.gpus[0]["memory_used_bytes"] = used + 10e9
        self.play()
        self.kill_rank(launch)
        time.sleep(1.5)  # time enough for a launch that does not wait
        self.assertFalse((self.folder / "a.h5.log/attempt-2").exists())
        self.gpus[0]["memory_used_bytes"] = used
        self.play()
        self.read_until(launch, "launch: attempt 2 on ")
        launch.send_signal(signal.SIGTERM)
        self.finish(launch, expect=STOPPED)
        verdict = (self.folder / "a.h5.log/attempt-1/verdict.txt").read_text()
        self.assertIn("ended with exit code 137 (signal 9)", verdict)
        evidence = json.loads((self.folder / "a.h5.log/attempt-1/evidence.json").read_text())
        self.assertEqual(len(evidence["nodes"][0]["samples"][-1]["gpus"]), 4)

    def test_leaves_out_a_node_whose_gpu_is_lost(self):
        launch = self.launch("--retries", "1")
        self.wait_for_parts(self.folder / "a.h5", 3)
        self.gpus[1]["lost"] = True
        self.play()
        self.kill_rank(launch)
        out, _ = self.finish(launch, expect=CANNOT_RUN)
        self.assertIn(" GPU 1: GPU is lost (NVML 15); ", out)
        self.assertIn("launch: not done: no node can be used after 1 attempt", out)

    def test_keeps_the_phases_of_a_rank_that_hung(self):
        self.environment["VOLTPILE_FAULT"] = "hang:range=3"
        launch = self.launch("--set", f"watchdog.compute_s={2 * PATIENCE}")
        self.read_until(launch, "launch: attempt 2 on ")
        launch.send_signal(signal.SIGTERM)
        self.finish(launch, expect=None)  # the second attempt hangs too, before or after it gets the signal
        attempt = self.folder / "a.h5.log/attempt-1"
        phases = (attempt / "phases.txt").read_text()
        self.assertRegex(phases, r"^rank 0 on \S+: compute has not moved for \d+ s")
        self.assertRegex(phases, r"(?s)rank +phase +threads +steps +last step\n.*rank 0 on \S+ +dispatch .*\n +compute +1 ")
        self.assertIn("ended with exit code 4", (attempt / "verdict.txt").read_text())

    def test_goes_on_without_a_reader(self):
        launch = self.launch("--set", "sweep.x.count=20", "--set", "sweep.y.count=20")
        self.read_until(launch, "launch: attempt 1 on ")
        launch.stdout.close()
        launch.stdout = None
        self.finish(launch, expect=None)
        self.voltpile("run", self.job, "--output", "b.h5", "--set", "sweep.x.count=20", "--set", "sweep.y.count=20")
        self.assert_same_result("a.h5", "b.h5")

    def test_refuses_what_it_cannot_repeat(self):
        piped = self.voltpile("launch", "/dev/stdin", expect=BAD_INPUT)[1]
        self.assertIn("each attempt reads the job file", piped)
        for variable in ("OMPI_COMM_WORLD_RANK", "SLURM_STEP_ID"):
            inside = self.voltpile("launch", self.job, environment={variable: "0"}, expect=BAD_INPUT)[1]
            self.assertIn("start it without them", inside)
        interactive = {"SLURM_STEP_ID": str(0xfffffffa)}  # the shell of salloc
        missing = self.voltpile("launch", self.job, "--hosts", "none.txt", environment=interactive, expect=None)[1]
        self.assertIn("none.txt", missing)
        self.write("file", "")
        _, err = self.voltpile("launch", self.job, "--output", "file/a.h5", expect=BAD_INPUT)
        self.assertIn("file/a.h5.log/attempt-1: Not a directory", err)


if __name__ == "__main__":
    unittest.main()
