"""The shipped PyTorch jobs: torchrun trains a small GPT or a LoRA adapter of the tiny model, a worker is killed, and the job
resumes from its checkpoint.

The adapter needs PyTorch 2.6 or newer and the package tokenizers. VOLTPILE_TORCHRUN names the torchrun of an environment that
has them, where the one in PATH does not.
"""

import hashlib
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import time
import unittest

import numpy

from harness import PATIENCE, SOURCE
from program_case import ProgramCase
from tiny_model import MODELS

# The smallest that is still a GPT, in a process that a busy machine starts slowly.
SMALL = ["--steps=12", "--save-every=2", "--width=16", "--layers=1", "--heads=2", "--context=16", "--batch=2"]


SMALL_LORA = ["--steps=12", "--save-every=2", "--rank=4", "--context=64", "--batch=2", "--text={job_folder}/text.txt"]
TORCHRUN = os.environ.get("VOLTPILE_TORCHRUN") or shutil.which("torchrun")


def has_fully_shard():
    """Whether the Python of torchrun has what fsdp_lora.py imports."""
    if not TORCHRUN:
        return False
    check = "import tokenizers; from torch.distributed.fsdp import fully_shard"
    python = pathlib.Path(TORCHRUN).parent / "python3"
    return subprocess.run([python, "-c", check], capture_output=True, check=False).returncode == 0


class TorchrunCase(ProgramCase):
    def torch_job(self, name, script, instead):
        """Copies a shipped job and its script. instead: arguments by those that they replace."""
        folder = SOURCE / "jobs/command"
        shutil.copy(folder / script, self.folder)
        text = (folder / name).read_text()
        for argument, others in instead.items():
            self.assertIn(f'"{argument}"', text)
            text = text.replace(f'"{argument}"', ", ".join(f'"{other}"' for other in others))
        return self.write(name, text)

    def losses(self):
        """By step, as the last run printed them."""
        found = {}
        for line in (self.folder / "a.h5.log/runs/instance-0.out").read_text().splitlines():
            if "step " in line and " loss " in line:
                words = line.split("step ", 1)[1].split()
                found[int(words[0].split("/")[0])] = float(words[2])
        return found

    def worker(self, script):
        """Waits for the first checkpoint, and returns the pid of a worker."""
        deadline = time.monotonic() + 300 * PATIENCE
        while time.monotonic() < deadline:
            if list(self.folder.glob("a.h5.work/step-000002.pt")):
                for entry in pathlib.Path("/proc").glob("[0-9]*"):
                    try:
                        words = (entry / "cmdline").read_bytes().split(b"\0")
                        if os.readlink(entry / "cwd") == str(self.folder.resolve() / "a.h5.work") and script.encode() in words \
                                and b"--report=report.json" in words and not any(b"torchrun" in word for word in words):
                            return int(entry.name)
                    except OSError:
                        continue
            time.sleep(0.02)
        self.fail("no worker that trains")


@unittest.skipUnless(shutil.which("torchrun"), "no torchrun in PATH (Debian: python3-torch)")
class Training(TorchrunCase):
    def ddp_job(self, options=()):
        return self.torch_job("ddp_torchrun.toml", "ddp_gpt.py", {"--steps=200": [*SMALL, *options]})

    def test_a_killed_worker_resumes_from_its_checkpoint_under_launch(self):
        self.ddp_job(["--pause=0.3"])
        process = self.start("launch", "ddp_torchrun.toml", "--ranks", "1", "--output", "a.h5")
        os.kill(self.worker("ddp_gpt.py"), signal.SIGKILL)
        out, _ = self.finish(process, timeout=600)
        self.assertRegex(out, r"instance-0: resumes from \S+/a.h5.work/step-0000\d\d.pt")
        resumed = self.losses()
        self.assertGreaterEqual(self.values("first_step")[0], 2)
        self.assertEqual(self.values("exit_code"), [0])
        # The run without a failure ends with the same loss.
        self.ddp_job()
        self.voltpile("run", "ddp_torchrun.toml", "--output", "a.h5", "--fresh", timeout=600)
        self.assertEqual(self.values("first_step"), [0])
        self.assertEqual(self.losses()[12], resumed[12])

    def test_two_nodes_train_one_model(self):
        self.ddp_job()
        self.voltpile("run", "ddp_torchrun.toml", "--output", "a.h5", "--set", "cluster.ranks_per_node=1", ranks=2, timeout=600)
        self.assertEqual(self.values("exit_code"), [0, 0])
        self.assertEqual(self.values("processes")[0], 2)
        report = json.loads((self.folder / "a.h5.work/report.json").read_text())
        self.assertEqual(self.values("loss")[0], report["loss"])


@unittest.skipUnless(has_fully_shard(), "no torchrun with PyTorch 2.6 or newer and tokenizers (VOLTPILE_TORCHRUN)")
class Adapters(TorchrunCase):
    def setUp(self):
        super().setUp()
        self.path = {"PATH": f"{pathlib.Path(TORCHRUN).parent}:{os.environ['PATH']}"}
        verses = (MODELS / "held_out.txt").read_text()[:3000]
        self.write("text.txt", verses.upper())  # which the model has not learned

    def lora_job(self, options=()):
        name = "fsdp_lora_torchrun.toml"
        self.torch_job(name, "fsdp_lora.py", {
            "--model={job_folder}/../../data/tiny_model/hf": [f"--model={MODELS}/hf"],
            "--text={job_folder}/../../README.md": ["--seed=1"], "--steps=100": [*SMALL_LORA, *options]})
        return name

    def evaluated(self, model):
        """The mean loss of the text, by Voltpile."""
        out, _ = self.voltpile("model", "eval", model, "text.txt", "--cpu", "--context", "64", "--json",
                               environment={"VOLTPILE_CPU_LEVEL": "baseline"})
        return json.loads(out)["mean_loss"]

    def merged_model(self, adapter):
        """Writes the model with the adapter added to its weights: W + alpha / r B A (Hu et al., arXiv:2106.09685)."""
        config = json.loads((adapter / "adapter_config.json").read_text())
        parts = read_safetensors(adapter / "adapter_model.safetensors")
        folder = self.folder / "merged"
        shutil.copytree(MODELS / "hf", folder)
        weights = {name: weight.astype(numpy.float32) for name, weight in read_safetensors(folder / "model.safetensors").items()}
        for name, a in parts.items():
            if name.endswith(".lora_A.weight"):
                b = parts[name.replace("lora_A", "lora_B")]
                self.assertEqual(a.shape[0], config["r"])
                weights[name.removeprefix("base_model.model.").replace("lora_A.", "")] += config["lora_alpha"] / config["r"] * (b @ a)
        self.assertEqual(len(parts), 2 * 7 * 4)
        write_safetensors(folder / "model.safetensors", weights)
        return folder

    def test_a_killed_worker_resumes_and_its_adapter_is_an_output(self):
        job = self.lora_job(["--pause=0.3"])
        process = self.start("launch", job, "--ranks", "2", "--output", "a.h5", environment=self.path)
        os.kill(self.worker("fsdp_lora.py"), signal.SIGKILL)
        out, _ = self.finish(process, timeout=600)
        self.assertRegex(out, r"instance-0: resumes from \S+/a.h5.work/step-0000\d\d.pt")
        self.assertGreaterEqual(self.values("first_step")[0], 2)
        self.assertEqual(self.values("processes"), [2])
        losses, resumed, checksum = self.losses(), self.values("loss")[0], self.texts("adapter_sha256")[0]
        self.assertLess(resumed, self.values("loss_before")[0])
        # The run without a failure ends with the same adapter.
        self.lora_job()
        self.voltpile("run", job, "--output", "a.h5", "--fresh", ranks=2, timeout=600, environment=self.path)
        self.assertEqual(self.values("first_step"), [0])
        self.assertEqual(self.losses()[12], losses[12])
        self.assertEqual(self.values("loss"), [resumed])
        adapter = pathlib.Path(self.texts("adapter")[0]) / "adapter_model.safetensors"
        self.assertEqual(self.texts("adapter_sha256"), [checksum])
        self.assertEqual(hashlib.sha256(adapter.read_bytes()).hexdigest(), checksum)
        # Both read and add in fp32 in another order.
        self.assertAlmostEqual(self.evaluated(MODELS / "hf"), self.values("loss_before")[0], delta=1e-3)
        self.assertAlmostEqual(self.evaluated(self.merged_model(adapter.parent)), resumed, delta=1e-3)


def read_safetensors(path):
    data = path.read_bytes()
    begin = 8 + struct.unpack("<Q", data[:8])[0]
    types = {"F16": numpy.float16, "F32": numpy.float32}
    return {name: numpy.frombuffer(data[begin + entry["data_offsets"][0] : begin + entry["data_offsets"][1]],
                                   types[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in json.loads(data[8:begin]).items() if name != "__metadata__"}


def write_safetensors(path, tensors):
    header, end = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [end, end + tensor.nbytes]}
        end += tensor.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(tensor.tobytes() for tensor in tensors.values()))


if __name__ == "__main__":
    unittest.main()
