"""`voltpile check` on nodes that a stand-in NVML plays back (tests/stand_in), and on copies of /sys."""

import json
import os
import subprocess
import unittest

from harness import BAD_INPUT, CANNOT_RUN, ENVIRONMENT, SOURCE, VOLTPILE, Case, stand_in


class Check(Case):
    def setUp(self):
        super().setUp()
        self.node = json.loads((SOURCE / "tests/stand_in/t180.json").read_text())
        self.gpus = self.node["gpus"]
        self.sys = self.folder / "sys"
        (self.sys / "bus/pci/devices").mkdir(parents=True)
        for gpu in self.gpus:
            port = self.sys / "devices/pci0000:00" / ("0000:00:" + gpu["bus_id"][5:7] + ".0")
            device = port / gpu["bus_id"]
            device.mkdir(parents=True)
            (device / "vendor").write_text("0x10de\n")
            (device / "class").write_text("0x030200\n")
            (self.sys / "bus/pci/devices" / gpu["bus_id"]).symlink_to(device)
            self.count_errors(port)

    def count_errors(self, port, correctable=0, nonfatal=0, fatal=0):
        (port / "aer_dev_correctable").write_text(f"RxErr {correctable}\nTOTAL_ERR_COR {correctable}\n")
        (port / "aer_dev_nonfatal").write_text(f"Undefined 0\nTOTAL_ERR_NONFATAL {nonfatal}\n")
        (port / "aer_dev_fatal").write_text(f"Undefined 0\nTOTAL_ERR_FATAL {fatal}\n")

    def environment(self):
        described = self.write("node.json", json.dumps(self.node))
        return stand_in(described)

    def check(self, *arguments, **options):
        if "--kernel-log" not in arguments:
            arguments += ("--kernel-log", self.write("empty.log", ""))
        return self.voltpile("check", "--sys", self.sys, *arguments, environment=self.environment(), **options)[0]

    def findings(self, verdict):
        """Returns the findings about GPUs: the machine and the build that are tested may have some of their own."""
        (report,) = json.loads(self.check("--json", expect=CANNOT_RUN if verdict == "bad" else 0))
        found = [each for each in report["findings"] if each["text"][0] != "/" and "this program" not in each["text"]]
        if verdict != "ok":
            self.assertEqual(report["verdict"], verdict)
        return [each["text"] for each in found]

    def test_healthy_node(self):
        self.assertEqual(self.findings("ok"), [])
        self.assertIn("4x Tesla V100-SXM2-16GB", self.check())

    def test_lost_gpu(self):
        self.gpus[2]["lost"] = True
        self.assertEqual(self.findings("bad"), ["GPU 2: GPU is lost (NVML 15)"])

    def test_gpu_that_the_driver_does_not_list(self):
        del self.gpus[3]
        self.assertEqual(self.findings("bad"), ["the driver does not list the GPU at 0000:3b:00.0"])

    def test_dead_nvlinks(self):
        for link in self.gpus[2]["links"][:3]:
            link["up"] = False
        self.gpus[2]["links"][4]["replays"] = 41
        self.assertEqual(self.findings("degraded"), ["GPU 2 (0000:3a:00.0): 3 of 6 NVLinks are up, 41 replays"])
        self.assertIn("reseat the module", self.check())

    def test_correctable_errors_at_a_port_above_the_gpu(self):
        self.count_errors(self.sys / "devices/pci0000:00/0000:00:16.0", correctable=48213)
        self.assertEqual(
            self.findings("degraded"),
            ["GPU 1 (0000:16:00.0): 48213 correctable PCIe errors at the port 0000:00:16.0 above it"],
        )

    def test_narrow_link(self):
        self.gpus[0]["pcie_width"] = 4
        self.assertEqual(self.findings("degraded"), ["GPU 0 (0000:15:00.0): PCIe x4 of x16"])

    def test_hot_gpu(self):
        self.gpus[1]["temperature_c"] = 61
        self.assertEqual(self.findings("degraded"), ["GPU 1 (0000:16:00.0): 61 °C, its neighbors 35"])

    def test_application_clocks_that_were_reset(self):
        for gpu in self.gpus[:3]:
            gpu["application_clock_mhz"] = 1005
        self.assertEqual(
            self.findings("degraded"), ["GPU 3 (0000:3b:00.0): application clock 1312 MHz, its neighbors 1005"]
        )

    def test_power_brake(self):
        self.gpus[0]["throttle_reasons"] = 0x88
        self.assertEqual(
            self.findings("degraded"),
            ["GPU 0 (0000:15:00.0): slowed down: hardware slowdown, external power brake"],
        )

    def test_memory_errors(self):
        self.gpus[0]["ecc_uncorrected"] = 2
        self.gpus[1]["retirement_pending"] = 1
        self.gpus[2]["retired_pages"] = 64
        self.assertEqual(
            self.findings("bad"),
            [
                "GPU 0 (0000:15:00.0): 2 uncorrectable memory errors since the driver was loaded",
                "GPU 1 (0000:16:00.0): a memory page waits to be retired",
                "GPU 2 (0000:3a:00.0): 64 retired memory pages",
            ],
        )

    def test_no_driver_but_gpus(self):
        self.node["init"] = 9
        (text,) = self.findings("bad")
        self.assertIn("Driver Not Loaded (NVML 9), but the node has 4 NVIDIA GPUs", text)

    def test_driver_that_cannot_be_used(self):
        for status, words, advice in ((4, "Insufficient Permissions (NVML 4)", "let this user open /dev/nvidia*"),
                                      (18, "Driver/library version mismatch (NVML 18)", "restart the node"),
                                      (9, "Driver Not Loaded (NVML 9)", "modprobe nvidia")):
            with self.subTest(status=status):
                self.node["init"] = status
                out = self.check(expect=CANNOT_RUN)
                self.assertIn(words, out)
                self.assertIn(advice, out)

    def test_topo_says_that_the_driver_hangs(self):
        self.node["hang"] = True
        out, err = self.voltpile("topo", environment=self.environment())
        self.assertIn("socket 0", out)
        self.assertIn("warning: the NVIDIA driver hangs: no answer in 20 s", err)

    def test_topo_warns_of_gpus_that_the_driver_does_not_show(self):
        environment = {"VOLTPILE_SYS": str(self.sys)}
        _, err = self.voltpile("topo", environment=self.environment() | environment)
        self.assertNotIn("the driver shows none", err)
        self.node["init"] = 18
        _, err = self.voltpile("topo", environment=self.environment() | environment)
        self.assertIn("the kernel sees 4 NVIDIA GPUs here, but the driver shows none: voltpile check says why", err)

    def test_under_mpirun_once_a_node(self):
        self.gpus[2]["lost"] = True
        out = self.check(ranks=2, expect=None)
        self.assertEqual(out.count("bad: GPU 2: GPU is lost"), 1)

    def test_xids_in_the_kernel_log(self):
        log = self.write(
            "kernel.log",
            "[12.5] NVRM: Xid (PCI:0000:16:00): 31, pid=7, name=python3, MMU Fault\n"
            "[13.5] NVRM: Xid (PCI:0000:3a:00): 74, pid=7, NVLink: fatal error detected on link 2\n" * 2,
        )
        (report,) = json.loads(self.check("--kernel-log", log, "--json"))
        found = {each["text"]: each["health"] for each in report["findings"] if "Xid" in each["text"]}
        since = "2 times since the node was started"
        self.assertEqual(
            found,
            {
                f"GPU 1 (0000:16:00.0): Xid 31 (access to an invalid address), {since}": "ok",
                f"GPU 2 (0000:3a:00.0): Xid 74 (NVLink error), {since}": "degraded",
            },
        )
        self.assertEqual(report["verdict"], "degraded")
        lost = self.write("lost.log", "NVRM: Xid (PCI:0000:3a:00): 79, GPU has fallen off the bus.\n")
        self.assertIn("fell off the bus", self.check("--kernel-log", lost, expect=CANNOT_RUN))

    def test_absent_kernel_log(self):
        _, err = self.voltpile("check", "--kernel-log", "absent.log", expect=BAD_INPUT)
        self.assertIn("absent.log", err)

    def test_names_versions(self):
        (report,) = json.loads(self.check("--json"))
        self.assertEqual(report["versions"]["NVIDIA driver"], "535.183.01")
        self.assertEqual(report["versions"]["CUDA of the driver"], "12.2")

    def test_measures_the_host(self):
        (report,) = json.loads(self.check("--measure", "--json"))
        memory = [each for each in report["figures"] if each["figure"] == "host_read"]
        self.assertTrue(memory)
        self.assertTrue(all(each["value"] > 0 and "NUMA node" in each["place"] for each in memory))
        self.assertIn("host memory, read", self.check("--measure"))

    def test_says_why_gpus_are_not_measured(self):
        """CUDA does not see the GPUs of the stand-in."""
        self.assertIn("not measured: GPU", self.check("--measure"))

    def test_hung_driver_is_not_measured(self):
        self.node["hang"] = True
        out = self.check("--measure", expect=CANNOT_RUN)
        self.assertIn("not measured: anything: the NVIDIA driver hangs", out)

    def test_measures_every_node_under_mpirun(self):
        (report,) = json.loads(self.check("--measure", "--json", ranks=2))  # two ranks on one node
        self.assertTrue(report["figures"])

    def test_measures_nothing_unless_asked(self):
        (report,) = json.loads(self.check("--json"))
        self.assertEqual((report["figures"], report["not_measured"]), ([], []))

    def test_slurm_script_drains_a_bad_node(self):
        self.gpus[2]["ecc_uncorrected"] = 1
        scontrol = self.write("scontrol", '#!/bin/sh\necho "$@" > drained\n')
        scontrol.chmod(0o755)
        environment = {**ENVIRONMENT, **self.environment(), "VOLTPILE": VOLTPILE, "SLURMD_NODENAME": "node7"}
        environment["PATH"] = f"{self.folder}:{os.environ['PATH']}"
        done = subprocess.run([SOURCE / "slurm/health.sh"], cwd=self.folder, env=environment, capture_output=True)
        self.assertEqual(done.returncode, 1)
        drained = (self.folder / "drained").read_text()
        self.assertIn("NodeName=node7 State=DRAIN Reason=voltpile check: GPU 2 (0000:3a:00.0): 1 uncorrectable", drained)

    def test_slurm_script_says_when_it_cannot_check(self):
        script = self.write("health.sh", (SOURCE / "slurm/health.sh").read_text())  # with no voltpile near it
        script.chmod(0o755)
        environment = {**ENVIRONMENT, "PATH": "/usr/bin:/bin", "VOLTPILE": "no-such-program"}
        for prolog in ({}, {"SLURM_JOB_ID": "7"}):  # a job runs all the same
            done = subprocess.run([script], env={**environment, **prolog}, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0 if prolog else 1)
            self.assertRegex(done.stderr + done.stdout, "no-such-program check ended with code 127")


if __name__ == "__main__":
    unittest.main()
