"""The shipped PyTorch job: torchrun trains a small GPT, a worker is killed, and the job resumes from its checkpoint."""

import json
import os
import pathlib
import shutil
import signal
import time
import unittest

from harness import PATIENCE, SOURCE
from program_case import ProgramCase

# The smallest that is still a GPT, in a process that a busy machine starts slowly.
SMALL = ["--steps=12", "--save-every=2", "--width=16", "--layers=1", "--heads=2", "--context=16", "--batch=2"]


@unittest.skipUnless(shutil.which("torchrun"), "no torchrun in PATH (Debian: python3-torch)")
class Training(ProgramCase):
    def ddp_job(self, options=()):
        folder = SOURCE / "jobs/command"
        shutil.copy(folder / "ddp_gpt.py", self.folder)
        text = (folder / "ddp_torchrun.toml").read_text()
        arguments = ", ".join(f'"{option}"' for option in [*SMALL, *options])
        self.assertIn('"--steps=200"', text)
        return self.write("ddp.toml", text.replace('"--steps=200"', arguments))

    def losses(self):
        """By step, as the last run printed them."""
        found = {}
        for line in (self.folder / "a.h5.log/runs/instance-0.out").read_text().splitlines():
            if "step " in line and " loss " in line:
                words = line.split("step ", 1)[1].split()
                found[int(words[0].split("/")[0])] = float(words[2])
        return found

    def worker(self):
        """Waits for the third step, and returns the pid of a worker."""
        deadline = time.monotonic() + 300 * PATIENCE
        while time.monotonic() < deadline:
            if list(self.folder.glob("a.h5.work/step-000002.pt")):
                for entry in pathlib.Path("/proc").glob("[0-9]*"):
                    try:
                        words = (entry / "cmdline").read_bytes().split(b"\0")
                        if os.readlink(entry / "cwd") == str(self.folder.resolve() / "a.h5.work") and b"ddp_gpt.py" in words \
                                and b"--report=report.json" in words and not any(b"torchrun" in word for word in words):
                            return int(entry.name)
                    except OSError:
                        continue
            time.sleep(0.02)
        self.fail("no worker that trains")

    def test_a_killed_worker_resumes_from_its_checkpoint_under_launch(self):
        self.ddp_job(["--pause=0.3"])
        process = self.start("launch", "ddp.toml", "--ranks", "1", "--output", "a.h5")
        os.kill(self.worker(), signal.SIGKILL)
        out, _ = self.finish(process, timeout=600)
        self.assertRegex(out, r"instance-0: resumes from \S+/a.h5.work/step-0000\d\d.pt")
        resumed = self.losses()
        self.assertGreaterEqual(self.values("first_step")[0], 2)
        self.assertEqual(self.values("exit_code"), [0])
        # The run without a failure ends with the same loss.
        self.ddp_job()
        self.voltpile("run", "ddp.toml", "--output", "a.h5", "--fresh", timeout=600)
        self.assertEqual(self.values("first_step"), [0])
        self.assertEqual(self.losses()[12], resumed[12])

    def test_two_nodes_train_one_model(self):
        self.ddp_job()
        self.voltpile("run", "ddp.toml", "--output", "a.h5", "--set", "cluster.ranks_per_node=1", ranks=2, timeout=600)
        self.assertEqual(self.values("exit_code"), [0, 0])
        self.assertEqual(self.values("processes")[0], 2)
        report = json.loads((self.folder / "a.h5.work/report.json").read_text())
        self.assertEqual(self.values("loss")[0], report["loss"])


if __name__ == "__main__":
    unittest.main()
