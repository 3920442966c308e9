"""/telemetry in results, on nodes that a stand-in NVML plays back (tests/stand_in)."""

import json
import re
import signal
import socket
import struct
import time
import unittest
import urllib.request

import h5py
import numpy

from harness import BAD_INPUT, NVML_STAND_IN, PATIENCE, SOURCE, STOPPED, Case, stand_in

RECORD = ("--set", "telemetry.record=yes", "--set", "telemetry.every_s=0.1", "--set", "run.range_seconds=0.2")
SHORT = ("--set", "integrate.steps=5000")
LONG = ("--set", "integrate.steps=100000")  # seconds, also on a fast core


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Telemetry(Case):
    def setUp(self):
        super().setUp()
        self.node = json.loads((SOURCE / "tests/stand_in/t180.json").read_text())

    def environment(self):
        described = self.write("node.json", json.dumps(self.node))
        return stand_in(described)

    def run_job(self, result, *arguments, environment=None, **options):
        environment = self.environment() if environment is None else environment
        return self.voltpile("run", self.job, "--output", result, *arguments, environment=environment, **options)

    def write_sensors(self):
        """Writes a copy of /sys with two processors and a power meter of the host."""
        for device, files in enumerate(({"name": "coretemp", "temp1_label": "Package id 0", "temp1_input": 61000},
                                        {"name": "coretemp", "temp1_label": "Package id 1", "temp1_input": 74500},
                                        {"name": "power_meter", "power1_average": 1423000000})):
            folder = self.folder / f"sys/class/hwmon/hwmon{device}"
            folder.mkdir(parents=True)
            for name, text in files.items():
                (folder / name).write_text(f"{text}\n")

    def host(self, result):
        with h5py.File(self.folder / result) as file:
            (name,) = file["telemetry"]
        return name

    def wait_until(self, condition, timeout=60):
        deadline = time.monotonic() + timeout * PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)

    def assert_one_sampler(self, times):
        self.assertTrue((numpy.diff(times) > 0).all())
        self.assertLessEqual(len(times), (times[-1] - times[0]) / 0.1 + 2)

    def test_power_of_every_gpu_over_time(self):
        for gpu in self.node["gpus"]:
            gpu["power_w"] = 100
            del gpu["energy_j"]  # as before Volta: the energy is the integral of the power
        out, _ = self.run_job("a.h5", *RECORD, *LONG)
        energy, units = re.search(r"energy: (\S+) Wh by 4 GPUs, 400 W on average; (\S+) joules per", out).groups()
        self.assertIn(f" {energy} Wh", self.voltpile("show", "a.h5")[0])
        seconds = 3600 * float(energy) / 400
        done = float(re.search(r"^\S+ points in .*: (\S+) [^,\n]*, \S+ [^/\n]*/s$", out, re.M).group(1))
        self.assertAlmostEqual(float(units) * done / (400 * seconds), 1, delta=0.02)
        with self.open_dataset("a.h5", group="telemetry/" + self.host("a.h5")) as found:
            self.assertEqual(found.power_w.dims, ("time", "gpu"))
            self.assertEqual(found.power_w.attrs["units"], "W")
            self.assertEqual(list(found.gpu.values), [gpu["bus_id"] for gpu in self.node["gpus"]])
            self.assertTrue((found.power_w == 100).all())
            self.assertTrue((found.temperature_c == numpy.array([33, 34, 35, 36])).all())
            self.assertNotIn("energy_j", found)
            self.assertEqual(found.cpu_percent.dims, ("time",))
            self.assertTrue((found.cpu_percent[1:] <= 100).all())
            self.assertGreater(found.host_memory_total_bytes[0], 2**28)
            self.assertTrue((found.memory_used_bytes == 2097152).all())
            self.assertEqual(found.host_memory_used_bytes.dims, ("time",))
        with h5py.File(self.folder / "a.h5") as file:
            group = file["telemetry"]
            times = group[self.host("a.h5")]["time"][()]
            self.assertAlmostEqual(group.attrs["gpu_energy_j"], 400 * (times[-1] - times[0]), delta=1)
            self.assert_one_sampler(times)
        self.assertIn("points intact", self.voltpile("verify", "a.h5")[0])

    def test_energy_counters(self):
        for index, gpu in enumerate(self.node["gpus"]):
            gpu["energy_j"] = [1e9 + 1000 * index + 7 * n for n in range(2000)]
        self.run_job("a.h5", *RECORD, *LONG)
        with h5py.File(self.folder / "a.h5") as file:
            energy = file["telemetry"][self.host("a.h5")]["energy_j"][()]
        earlier = 0
        for index in range(4):  # in turns: reading them takes long
            known = energy[:, index][~numpy.isnan(energy[:, index])]
            first = round((known[0] - 1e9 - 1000 * index) / 7)  # on a busy machine one may precede the job's loop
            self.assertIn(first, (0, 1))
            earlier += first
            self.assertEqual(list(known), [1e9 + 1000 * index + 7 * (first + n) for n in range(len(known))])
        if earlier == 0:  # otherwise the first turns were taken before
            self.assertFalse(numpy.isnan(energy[0]).all())

    def test_survives_a_stop(self):
        process = self.start("run", self.job, "--output", "a.h5", *RECORD, *LONG, "--set", "run.range_points=200",
                             environment=self.environment())
        self.wait_for_parts(self.folder / "a.h5", 3)
        self.wait_until(lambda: list((self.folder / "a.h5.parts").glob("life-*/node-*.json")))  # the first sample
        process.send_signal(signal.SIGINT)
        self.finish(process, expect=STOPPED)
        files = list((self.folder / "a.h5.parts").glob("telemetry-life-1-*.csv"))
        self.assertEqual(len(files), 1)
        first = files[0].read_text().splitlines()
        self.run_job("a.h5", *RECORD, *LONG)
        with h5py.File(self.folder / "a.h5") as file:
            times = file["telemetry"][self.host("a.h5")]["time"][()]
        before = [float(line.split(",")[0]) for line in first[2:]]
        numpy.testing.assert_allclose(times[: len(before)], before, atol=0.001)
        self.assertGreater(len(times), len(before))
        self.assertFalse((self.folder / "a.h5.parts").exists())

    def test_a_clock_that_is_set_back(self):
        for gpu in self.node["gpus"]:
            gpu["power_w"] = 100
            del gpu["energy_j"]
        clock = {"LD_PRELOAD": str(NVML_STAND_IN.parent / "libshifted_clock.so"), "VOLTPILE_STAND_IN_CLOCK_S": "1000",
                 "VOLTPILE_STAND_IN_CLOCK_UNTIL_S": str(int(time.monotonic()) + 6)}
        hours = ("--set", "integrate.steps=50000000", "--set", "stop.separation=inf", "--set", "run.time_limit_s=9")
        self.run_job("a.h5", *RECORD, *hours, environment=self.environment() | clock, expect=STOPPED)
        (first,) = (self.folder / "a.h5.parts").glob("telemetry-life-1-*.csv")
        times = numpy.array([float(line.split(",")[0]) for line in first.read_text().splitlines()[2:]])
        self.assertTrue((numpy.diff(times) > 0).all())

    def test_two_ranks_of_a_host_sample_once(self):
        self.run_job("a.h5", *RECORD, ranks=2)
        with h5py.File(self.folder / "a.h5") as file:
            times = file["telemetry"][self.host("a.h5")]["time"][()]
        self.assert_one_sampler(times)

    def test_driver_that_hangs_does_not_hang_the_job(self):
        self.node["hang"] = True
        self.run_job("a.h5", *RECORD)
        with h5py.File(self.folder / "a.h5") as file:
            for host in file.get("telemetry", {}).values():  # of a long run: the host alone
                self.assertNotIn("power_w", host)

    def test_driver_that_hangs_midway_keeps_what_was_read(self):
        self.node["gpus"][3] |= {"power_w": [50] * 100, "hang": "power_w", "hang_after": 3}
        self.run_job("a.h5", *RECORD)
        with h5py.File(self.folder / "a.h5") as file:
            host = file["telemetry"][self.host("a.h5")]
            power, known = host["power_w"][()], host["gpus_known"][()]
            self.assertEqual(power.shape[1], 4)
            self.assertLessEqual(known.sum(), 3)
            numpy.testing.assert_array_equal(numpy.isnan(power).any(axis=1), known == 0)

    def test_driver_that_hangs_for_longer_than_files_are_written(self):
        self.node["gpus"][3] |= {"power_w": [50] * 100, "hang": "power_w", "hang_after": 3}
        hours = ("--set", "integrate.steps=50000000", "--set", "stop.separation=inf", "--set", "run.time_limit_s=17")
        self.run_job("a.h5", *RECORD, *hours, expect=STOPPED)
        known = []
        for path in sorted((self.folder / "a.h5.parts").glob("telemetry-life-1-*.csv")):
            lines = path.read_text().splitlines()
            column = [name.split("|")[0] for name in lines[1].split(",")].index("gpus_known")
            known += [line.split(",")[column] for line in lines[2:]]
        self.assertGreater(len(known), 3)
        self.assertEqual(set(known[3:]), {"0"})

    def test_gpu_that_is_lost_midway_has_no_more_values(self):
        self.node["gpus"][3] |= {"power_w": [50, 50, 50], "fail_after": {"power_w": [3, 15]}}
        self.run_job("a.h5", *RECORD)
        with h5py.File(self.folder / "a.h5") as file:
            power = file["telemetry"][self.host("a.h5")]["power_w"][()]
        self.assertGreater(len(power), 3)
        known = int(numpy.isfinite(power[:, 3]).sum())
        self.assertIn(known, (1, 2, 3))  # a sample may be read before the job begins
        self.assertEqual(list(power[:known, 3]), [50] * known)
        self.assertTrue(numpy.isnan(power[known:, 3]).all())
        self.assertFalse(numpy.isnan(power[:, :3]).any())

    def test_host_without_gpus(self):
        out, _ = self.voltpile("run", self.job, "--output", "a.h5", *RECORD)
        self.assertNotIn("energy:", out)
        with self.open_dataset("a.h5", group="telemetry/" + self.host("a.h5")) as found:
            self.assertNotIn("gpu", found)
            self.assertGreater(found.host_memory_used_bytes[0], 2**20)
            self.assertTrue((found.network_sent_bytes_per_s[1:] >= 0).all())

    def test_sensors_of_the_host(self):
        self.write_sensors()
        for environment in (self.environment(), {}):  # with GPUs and without
            self.run_job("a.h5", "--fresh", *RECORD, environment=environment | {"VOLTPILE_SYS": str(self.folder / "sys")})
            with self.open_dataset("a.h5", group="telemetry/" + self.host("a.h5")) as found:
                self.assertTrue((found.cpu_temperature_c == 74.5).all())
                self.assertEqual(found.cpu_temperature_c.attrs["units"], "degree_Celsius")
                self.assertEqual(found.cpu_temperature_c.dims, ("time",))
                self.assertTrue((found.host_power_w == 1423).all())
                self.assertEqual(found.host_power_w.attrs["units"], "W")
                self.assertNotIn("cpu_power_w", found)  # no RAPL

    def test_top_and_metrics_have_the_sensors_of_the_host(self):
        self.write_sensors()
        port = free_port()
        process = self.start("run", self.job, "--output", "a.h5", *RECORD, "--set", "integrate.steps=5000000",
                             "--set", f"telemetry.port={port}", environment={"VOLTPILE_SYS": str(self.folder / "sys")})
        found = []

        def read():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                    found[:] = [answer.read().decode()]
            except OSError:
                return False
            return "voltpile_host_cpu_temperature_c{" in found[0]

        self.wait_until(read)
        out, _ = self.voltpile("top", "--nodes", f"127.0.0.1:{port}", "--once", environment={"COLUMNS": "200"})
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        process.communicate()
        self.assertRegex(found[0], r'(?m)^voltpile_host_cpu_temperature_c{host="[^"]+"} 74.5$')
        self.assertRegex(found[0], r'(?m)^voltpile_host_power_w{host="[^"]+"} 1423$')
        self.assertRegex(out, r" 7[45] °C .* power 1423 W")  # 74.5 is rounded

    def test_short_run_records_only_on_request_without_gpus(self):
        self.run_job("a.h5", *SHORT)
        with h5py.File(self.folder / "a.h5") as file:
            self.assertNotIn("telemetry", file)

    def test_top_shows_a_running_job(self):
        for gpu in self.node["gpus"]:
            gpu["power_w"] = 123
        process = self.start("run", self.job, "--output", "a.h5", *RECORD, "--set", "integrate.steps=5000000",
                             environment=self.environment(), ranks=2)
        self.wait_until(lambda: list((self.folder / "a.h5.parts").glob("life-*/node-*.json")) and
                        list((self.folder / "a.h5.parts").glob("life-*/job.json")))
        out, _ = self.voltpile("top", "a.h5", "--once", environment={"COLUMNS": "200"})
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        process.communicate()
        lines = out.splitlines()
        self.assertRegex(lines[0], r"% .*/s  elapsed .* 2 ranks")
        self.assertEqual(out.count("123 W"), 4)
        self.assertIn("4 GPUs 492 W", out)
        self.assertIn("Tesla V100-SXM2-16GB", out)
        self.assertRegex(out, r"rank  host")
        _, err = self.voltpile("top", "b.h5", "--once", expect=BAD_INPUT)
        self.assertIn("b.h5: no run writes this result now", err)

    def test_metrics_on_a_port(self):
        for gpu in self.node["gpus"]:
            gpu["power_w"] = 123
        port = free_port()
        process = self.start("run", self.job, "--output", "a.h5", *RECORD, "--set", "integrate.steps=5000000",
                             "--set", f"telemetry.port={port}", environment=self.environment())
        found = []

        def read():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                    found[:] = [answer.read().decode()]
            except OSError:
                return False
            return "voltpile_gpu_power_w{" in found[0] and "voltpile_rank_points_total{" in found[0]

        self.wait_until(read)
        node, closed = f"127.0.0.1:{port}", f"127.0.0.1:{free_port()}"
        out, _ = self.voltpile("top", "--nodes", f"{node},{closed}", "--once", environment={"COLUMNS": "200"})
        self.assertRegex(out, r"points committed by 1 rank,")
        self.assertEqual(out.count("123 W"), 4)
        self.assertIn("4 GPUs 492 W", out)
        self.assertIn(f"{closed}: ", out)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        process.communicate()
        _, err = self.voltpile("top", "--nodes", closed, "--once", expect=BAD_INPUT)
        self.assertIn(f"{closed}: no node answers", err)
        _, err = self.voltpile("top", "--nodes", "node1", "--once", expect=BAD_INPUT)
        self.assertIn("node1 has no port", err)
        bus_id = self.node["gpus"][2]["bus_id"]
        self.assertRegex(found[0], r'voltpile_gpu_power_w{host="[^"]+",gpu="%s",name="Tesla V100-SXM2-16GB"} 123\n' % bus_id)
        self.assertIn("# TYPE voltpile_gpu_energy_j counter\n", found[0])
        self.assertIn("# TYPE voltpile_host_memory_used_bytes gauge\n", found[0])

    def test_port_that_is_taken_is_a_warning(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            _, err = self.run_job("a.h5", *RECORD, *SHORT, "--set", f"telemetry.port={taken.getsockname()[1]}")
        self.assertEqual(err.count("telemetry.port:"), 1)

    def test_plot(self):
        for index, gpu in enumerate(self.node["gpus"]):
            gpu["power_w"] = [100 + 20 * index + n % 40 for n in range(400)]
        self.run_job("a.h5", *RECORD)
        out, _ = self.voltpile("plot", "--telemetry", "a.h5")
        self.assertEqual(out, "a.telemetry.png\n")
        data = (self.folder / "a.telemetry.png").read_bytes()
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(struct.unpack(">I", data[16:20])[0], 1320)
        self.voltpile("plot", "--telemetry", "a.h5", "--output", "b.png")
        self.assertEqual((self.folder / "b.png").read_bytes(), data)
        self.run_job("c.h5", *SHORT, "--set", "telemetry.record=no")
        _, err = self.voltpile("plot", "--telemetry", "c.h5", expect=BAD_INPUT)
        self.assertIn("c.h5 has no telemetry", err)

    def test_interval_out_of_range(self):
        _, err = self.run_job("a.h5", "--set", "telemetry.every_s=0.01", expect=BAD_INPUT)
        self.assertIn("telemetry.every_s", err)


if __name__ == "__main__":
    unittest.main()
