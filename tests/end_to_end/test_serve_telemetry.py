"""What a server keeps of its nodes, on GPUs that a stand-in NVML plays back (tests/stand_in)."""

import json
import re
import signal
import socket
import time
import unittest

import h5py

from harness import BAD_INPUT, FAILED, PATIENCE, SOURCE, STOPPED, stand_in
from serving import MODEL, ServeCase

JOB = f"""app = "serve"
[model]
path = "{MODEL}"
[serve]
port = 0
[engine]
context = 512
[run]
device = "cpu"
[telemetry]
record = "yes"
every_s = 0.1
"""
BODY = {"prompt": "And it came to pass", "max_tokens": 20, "ignore_eos": True}


class ServeTelemetry(ServeCase):
    def setUp(self):
        super().setUp()
        self.job = self.write("lab.toml", JOB)
        self.results = self.folder / "results"
        self.address, self.file = self.results / "lab.address", self.results / "lab.telemetry.h5"
        self.node = json.loads((SOURCE / "tests/stand_in/t180.json").read_text())
        for gpu in self.node["gpus"]:
            gpu["power_w"] = 100
            del gpu["energy_j"]

    def serve_job(self, *arguments, **options):
        environment = stand_in(self.write("node.json", json.dumps(self.node)))
        self.start_server(self.address, "run", self.job, *arguments, environment=environment, **options)

    def wait_for_samples(self):
        """Until the nodes have been sampled a few times."""
        node = "lab.address.node-*.json"
        deadline = time.monotonic() + 60 * PATIENCE
        seen = set()
        while len(seen) < 3:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)
            seen |= {path.read_text() for path in self.results.glob(node) if "power_w" in path.read_text()}

    def stop(self):
        self.server.send_signal(signal.SIGUSR1)
        return self.finish(self.server, expect=STOPPED)

    def read(self):
        with h5py.File(self.file) as file:
            (host,) = file["telemetry"]
            group = file["telemetry"][host]
            return dict(file.attrs), dict(file["telemetry"].attrs), group["time"][()], group["power_w"][()]

    def test_energy_of_each_token(self):
        for ranks in (None, 2):
            with self.subTest(ranks=ranks):
                self.serve_job(ranks=ranks)
                prompt = self.post("/v1/completions", BODY).json["usage"]["prompt_tokens"]
                self.post("/v1/completions", BODY)
                self.wait_for_samples()
                _, err = self.stop()
                self.assertRegex(err, rf"served 2 requests in .*: {2 * prompt} tokens of prompts, 40 generated\n")
                watt_hours, each = re.search(r"energy: (\S+) Wh by 4 GPUs, 400 W on average; (\S+) joules per generated token\n", err).groups()
                self.assertAlmostEqual(float(each) * 40 / (3600 * float(watt_hours)), 1, delta=0.01)  # both are rounded
                self.assertIn("telemetry: results/lab.telemetry.h5\n", err)
                root, group, times, power = self.read()
                self.assertEqual((root["generatedTokens"], root["promptTokens"]), (40, 2 * prompt))
                self.assertEqual(power.shape, (len(times), 4))
                self.assertTrue((power == 100).all())
                self.assertAlmostEqual(group["gpu_energy_j"], 400 * (times[-1] - times[0]), delta=1)
                self.assertEqual(list(self.results.iterdir()), [self.file])

    def test_a_killed_server_leaves_its_samples_to_the_next(self):
        self.serve_job()
        self.post("/v1/completions", BODY)
        deadline = time.monotonic() + 120 * PATIENCE
        samples = self.results / "lab.telemetry.h5.samples"
        seen = set()
        while len(seen) < 2:  # written after ten seconds, and again with more after twenty
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.5)
            seen |= {path.read_text().count("\n") for path in samples.glob("telemetry-life-*.csv")}
        self.server.kill()
        self.server.communicate()
        self.assertFalse(self.file.exists())
        (first,) = samples.glob("telemetry-life-*.csv")
        before = [float(line.split(",")[0]) for line in first.read_text().splitlines()[2:]]
        self.assertEqual(self.voltpile("plot", "--telemetry", self.file)[0], f"{self.results}/lab.telemetry.png\n")
        self.address.unlink()
        self.serve_job()
        self.wait_for_samples()
        self.stop()
        _, _, times, _ = self.read()
        self.assertGreater(len(times), len(before))
        self.assertTrue((abs(times[: len(before)] - before) < 0.001).all())
        self.assertFalse(samples.exists())

    def test_the_next_run_replaces_the_file(self):
        ends = []
        for _ in range(2):
            self.serve_job()
            self.wait_for_samples()
            self.stop()
            _, _, times, _ = self.read()
            self.assertTrue(not ends or times[0] > ends[-1])
            ends.append(times[-1])

    def test_keeps_none_if_it_shall_not(self):
        self.serve_job("--set", "telemetry.record=no")
        self.post("/v1/completions", BODY)
        _, err = self.stop()
        self.assertIn("20 generated", err)
        self.assertNotIn("energy", err)
        self.assertEqual(list(self.results.iterdir()), [])

    def test_a_folder_that_cannot_be_made_is_a_warning(self):
        self.results.mkdir()
        self.write("results/lab.telemetry.h5.samples", "")
        self.serve_job()
        self.post("/v1/completions", BODY)
        self.wait_for_samples()
        _, err = self.stop()
        self.assertRegex(err, r"warning: telemetry: .*lab.telemetry.h5.samples.*; the server keeps none")
        self.assertRegex(err, r"energy: .* joules per generated token\n")

    def test_plot_and_top_by_the_name_of_the_file(self):
        self.serve_job()
        self.wait_for_samples()
        out, _ = self.voltpile("top", self.file, "--once")
        self.assertIn(f"lab at {self.url}  0 running", out)
        _, err = self.voltpile("plot", self.address, expect=BAD_INPUT)
        self.assertIn(f"voltpile plot --telemetry {self.file} draws its telemetry", err)
        self.stop()
        self.voltpile("plot", "--telemetry", self.file)
        self.assertEqual((self.results / "lab.telemetry.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.assertNotIn("telemetry", self.voltpile("list", "results")[0])

    def test_show_and_verify(self):
        self.serve_job()
        self.wait_for_samples()
        _, err = self.voltpile("verify", self.file, expect=BAD_INPUT)
        self.assertIn(f"{self.file} does not exist yet: a server writes it when it stops", err)
        self.stop()
        _, _, times, power = self.read()
        out, _ = self.voltpile("show", self.file)
        (line,) = [line.split() for line in out.splitlines() if "power_w" in line and "0000:16:00.0" in line]
        self.assertEqual(line, ["power_w", "0000:16:00.0", "W", "100", "100", "100", "100", "0"])
        self.assertRegex(out, rf"{len(times)} samples from 20\d\d-\d\d-\d\d ..:..:.. to .* UTC\n")
        self.assertRegex(out, r"energy: .* Wh by 4 GPUs, 400 W on average\n")
        self.assertEqual(self.voltpile("verify", self.file)[0], f"{self.file}: {len(times)} samples of telemetry intact\n")
        self.assertEqual(json.loads(self.voltpile("verify", self.file, "--json")[0]), {"file": str(self.file), "samples": len(times), "damage": []})

    def test_verify_finds_damage(self):
        self.serve_job()
        self.wait_for_samples()
        self.stop()
        with h5py.File(self.file, "r+") as file:
            (host,) = file["telemetry"]
            file["telemetry"][host]["power_w"][0, 2] = 7
        _, err = self.voltpile("verify", self.file, expect=FAILED)
        self.assertRegex(err, rf"{self.file}: .*telemetry/{host}/power_w")
        found = json.loads(self.voltpile("verify", self.file, "--json", expect=FAILED)[0])
        self.assertEqual([each["where"] for each in found["damage"]], [f"telemetry/{host}/power_w"])
        with h5py.File(self.file, "r+") as file:
            file.attrs["generatedTokens"] = 7
        found = json.loads(self.voltpile("verify", self.file, "--json", expect=FAILED)[0])
        self.assertEqual(len(found["damage"]), 2)
        self.file.write_bytes(self.file.read_bytes()[:1000])
        _, err = self.voltpile("verify", self.file, expect=FAILED)
        self.assertIn(str(self.file), err)
        self.assertEqual(len(err.splitlines()), 1, err)

    def test_the_command_keeps_it_beside_its_address_file(self):
        environment = stand_in(self.write("node.json", json.dumps(self.node)))
        self.serve(environment=environment)
        self.post("/v1/completions", BODY)
        _, err = self.stop()
        self.assertRegex(err, r"served 1 request in .*, 20 generated\n")

    def test_the_command_keeps_it_without_an_address_file_too(self):
        environment = stand_in(self.write("node.json", json.dumps(self.node)))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        name = f"{MODEL.stem}-{socket.gethostname()}-{self.port}.telemetry.h5"
        for chosen, file in (((), self.results / name), (("--telemetry", "my.telemetry.h5"), self.folder / "my.telemetry.h5"),
                             (("--telemetry", "none"), None)):
            with self.subTest(chosen=chosen):
                self.server = self.start("serve", MODEL, "--port", self.port, "--cpu", *chosen, environment=environment)
                self.addCleanup(self.end_server)
                deadline = time.monotonic() + 120 * PATIENCE
                while True:
                    try:
                        self.post("/v1/completions", BODY)
                        break
                    except ConnectionRefusedError:
                        self.assertLess(time.monotonic(), deadline)
                        time.sleep(0.1)
                samples = file and file.with_name(file.name + ".samples")
                self.assertEqual([path for path in self.folder.rglob("*.samples")], [samples] if samples else [])
                self.stop()
                self.assertFalse(samples and samples.exists())  # nothing is kept of a short run without GPUs

    def test_telemetry_with_another_ending_is_an_error(self):
        _, err = self.voltpile("serve", MODEL, "--telemetry", "my.h5", expect=BAD_INPUT)
        self.assertIn("--telemetry: 'my.h5' must end in .telemetry.h5, or be none", err)


if __name__ == "__main__":
    unittest.main()
