"""[power] in job files, on nodes that a stand-in NVML plays back (tests/stand_in)."""

import json
import os
import signal
import time
import unittest

import h5py

from harness import BAD_INPUT, FAILED, PATIENCE, SOURCE, STOPPED, stand_in
from program_case import ProgramCase, family_job, state_of

SHORT = ("--set", "integrate.steps=2000")
SECONDS = ("--set", "integrate.steps=80000", "--set", "stop.separation=inf")
ON_ANY = ("--set", "run.device=auto")  # the stand-in has no CUDA: the ranks compute on cores


class Power(ProgramCase):
    def setUp(self):
        super().setUp()
        self.node = json.loads((SOURCE / "tests/stand_in/t180.json").read_text())
        self.described = self.folder / "node.json"

    def allow(self):
        for gpu in self.node["gpus"]:
            gpu["settable"] = True

    def environment(self):
        self.described.write_text(json.dumps(self.node))
        (self.folder / "state").mkdir(exist_ok=True)
        return {**stand_in(self.described), "XDG_STATE_HOME": str(self.folder / "state")}

    def settings(self):
        gpus = json.loads(self.described.read_text())["gpus"]
        return {(gpu["power_limit_w"], gpu["application_clock_mhz"]) for gpu in gpus}

    def run_job(self, *arguments, **options):
        return self.voltpile("run", self.job, "--output", "a.h5", *ON_ANY, *arguments, **options)

    def test_sets_once_a_node_and_restores(self):
        self.allow()
        out, _ = self.run_job("--set", "power.limit_w=200", "--set", "power.sm_clock_mhz=1005", *SHORT,
                              ranks=2, environment=self.environment())
        self.assertEqual(out.count("power limit 200 W, application clock 1005 MHz on 4 GPUs, until the job ends"), 1)
        self.assertEqual(self.settings(), {(300, 1312)})

    def test_next_run_restores_after_a_kill(self):
        for restorer in ("run", "check"):
            self.allow()
            environment = self.environment()
            process = self.start("run", self.job, "--output", "a.h5", *ON_ANY, "--set", "power.limit_w=200",
                                 "--set", "run.range_points=20", environment=environment)
            self.wait_for_parts(self.folder / "a.h5", 1)
            self.assertEqual(self.settings(), {(200, 1312)})
            process.send_signal(signal.SIGKILL)
            self.finish(process, expect=None)
            self.assertEqual(self.settings(), {(200, 1312)})
            if restorer == "run":
                out, _ = self.run_job("--fresh", *SHORT, environment=environment)
            else:
                out, _ = self.voltpile("check", "--sys", self.folder, environment=environment, expect=None)
            self.assertIn("GPU 0000:15:00.0: restored what a killed run had changed: power limit 300 W", out)
            self.assertEqual(self.settings(), {(300, 1312)})
            (self.folder / "a.h5").unlink(missing_ok=True)

    def test_prints_the_command_where_it_is_not_permitted(self):
        _, err = self.run_job("--set", "power.limit_w=200", "--set", "power.sm_clock_mhz=1005", *SHORT, ranks=2,
                              environment=self.environment())
        self.assertEqual(err.count("an administrator can: sudo nvidia-smi -pl 200 -ac 877,1005"), 1)

    def test_limit_above_what_the_gpus_allow(self):
        self.allow()
        job = self.write("limit.toml", self.job.read_text().replace('device = "cpu"', "") + "[power]\nlimit_w = 400\n")
        line = job.read_text().split("\n").index("limit_w = 400") + 1
        _, err = self.voltpile("run", job, "--output", "b.h5", ranks=2, expect=BAD_INPUT, environment=self.environment())
        self.assertIn(f"limit.toml:{line}: power.limit_w = 400: the GPU 0000:15:00.0 (Tesla V100-SXM2-16GB)", err)
        self.assertIn("allows 150 to 300 W", err)
        self.assertEqual(self.settings(), {(300, 1312)})

    def test_rests_above_the_budget(self):
        for gpu in self.node["gpus"]:
            gpu["power_w"] = 300
            del gpu["energy_j"]
        supply = ("--set", "power.supply_w=1400", "--set", "power.other_w=400")
        out, err = self.run_job(*supply, *SECONDS, ranks=2, environment=self.environment())
        self.assertEqual(err.count("W of 1000 W: they rest"), 1)
        self.assertRegex(out, r"power: the GPUs of \S+ rested \d+\.\d % of the time to stay within 1000 W; "
                              r"most in a second: 1200 W")

    def test_programs_rest_above_the_budget(self):
        for gpu in self.node["gpus"]:
            gpu["power_w"] = 300
            del gpu["energy_j"]
        # A tree of processes, one of them in a session of its own, that counts how long it computes and how long that takes.
        program = self.write("spin.py", """
import os, sys, time
if len(sys.argv) == 1:
    if os.fork() == 0:
        os.setsid()
        os.execv(sys.executable, [sys.executable, sys.argv[0], "worker"])
    os.wait()
else:
    begin, gaps, last = time.monotonic(), 0, time.monotonic()
    while last - begin < 6:
        now = time.monotonic()
        gaps += (now - last) * (now - last > 0.1)  # suspended
        last = now
        time.sleep(0.005)
    print("rested", gaps / (last - begin))
""")
        job = self.write("spin.toml", f"""app = "command"
[command]
argv = ["python3", "{program}"]
[output.regex]
rested = 'rested (.*)'
""")
        for supply, least, most in ((1000, 0.5, 1), (2000, 0, 0.3)):  # beside other work a process waits for its core
            with self.subTest(supply=supply):
                self.voltpile("run", job, "--output", f"{supply}.h5", "--set", f"power.supply_w={supply}",
                              environment=self.environment())
                with h5py.File(self.folder / f"{supply}.h5") as file:
                    self.assertEqual(int(file["outcome"][()].item()), 0)
                    self.assertGreaterEqual(file["rested"][()].item(), least)
                    self.assertLessEqual(file["rested"][()].item(), most)

    def test_a_program_that_rests_can_be_stopped(self):
        for gpu in self.node["gpus"]:
            gpu["power_w"] = 300
            del gpu["energy_j"]
        job = self.write("sleep.toml", """app = "command"
[command]
argv = ["sh", "-c", "trap 'echo ended >ended; exit 0' TERM; echo began >began; while :; do sleep 0.1; done"]
""")
        process = self.start("run", job, "--output", "s.h5", "--set", "power.supply_w=500", environment=self.environment())
        deadline = time.monotonic() + 30 * PATIENCE
        while not (self.folder / "began").exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)
        time.sleep(3)  # until it rests most of the time
        process.send_signal(signal.SIGINT)
        self.finish(process, expect=STOPPED)
        self.assertEqual((self.folder / "ended").read_text(), "ended\n")

    def test_nothing_of_a_program_that_rests_survives_a_kill(self):
        for gpu in self.node["gpus"]:
            gpu["power_w"] = 300
            del gpu["energy_j"]
        job = self.write("family.toml", family_job())
        for victim in ("keeper", "guard", "rank"):
            with self.subTest(victim=victim):
                process = self.start("run", job, "--output", "f.h5", "--fresh", "--set", "power.supply_w=500",
                                     environment=self.environment())
                pids = self.await_family() | {"rank": process.pid}
                deadline = time.monotonic() + 30 * PATIENCE
                while not all(state_of(pids[name])[0] == "T" for name in ("main", "child", "apart", "grandchild")):
                    self.assertLess(time.monotonic(), deadline, "it never rests")
                os.kill(pids[victim], signal.SIGKILL)
                self.finish(process, expect=None if victim == "rank" else FAILED)
                self.await_end_of(pids.values())
                for path in self.folder.glob("*.pid"):
                    path.unlink()

    def test_interventions_are_in_the_result(self):
        for gpu in self.node["gpus"]:
            gpu["power_w"] = [100] * 10 + [300]
            del gpu["energy_j"]
        self.run_job("--set", "power.supply_w=1000", "--set", "telemetry.record=yes", *SECONDS,
                     environment=self.environment())
        with h5py.File(self.folder / "a.h5") as file:
            (host,) = file["telemetry"]
            rest = file["telemetry"][host]["gpu_rest"][()]
            watts = file["telemetry"][host]["power_w"][()].sum(axis=1)
        self.assertGreater(len(rest), 1)
        self.assertTrue((rest[watts > 1000] > 0).any())

    def test_lowers_clocks_and_restores_them(self):
        self.allow()
        for gpu in self.node["gpus"]:
            gpu |= {"power_w": 260, "sm_clock_mhz": 1500}  # whatever the limit
            del gpu["energy_j"]
        process = self.start("run", self.job, "--output", "a.h5", *ON_ANY, "--set", "power.supply_w=1000", "--set",
                             'power.hold_by="clocks"', "--set", "telemetry.record=yes", "--set", "run.range_points=4",
                             "--set", "integrate.steps=1000000", "--set", "stop.separation=inf",
                             environment=self.environment())
        self.addCleanup(process.kill)
        said = ""
        while "runs at 1500 MHz although its clock may be at most" not in said:  # read back
            line = process.stderr.readline()
            self.assertTrue(line, said)
            said += line
        self.assertEqual(said.count("W of 1000 W: their clocks are lowered, now to "), 1)
        process.send_signal(signal.SIGINT)
        out, _ = self.finish(process, expect=STOPPED)
        self.assertIn("clock at most 1530 MHz on 4 GPUs, until the job ends", out)
        self.assertRegex(out, r"the clocks of the GPUs of \S+ were changed \d+ times; the lowest limit was \d+ MHz")
        file = sorted((self.folder / "a.h5.parts").glob("telemetry-life-1-*.csv"))[-1]
        _, head, *rows = [line.split(",") for line in file.read_text().splitlines()]
        limits = [float(row[head.index("gpu_clock_limit_mhz|MHz|")] or 1530) for row in rows]
        self.assertLess(limits[-1], 1530)
        self.assertGreaterEqual(limits[-1], 0.4 * 1530)
        gpus = json.loads(self.described.read_text())["gpus"]
        self.assertEqual({gpu["locked_clock_mhz"] for gpu in gpus}, {0})  # any clock

    def test_rests_where_clocks_may_not_be_set(self):
        for gpu in self.node["gpus"]:
            gpu["power_w"] = 300
            del gpu["energy_j"]
        _, err = self.run_job("--set", "power.supply_w=1000", "--set", 'power.hold_by="clocks"', *SECONDS,
                              environment=self.environment())
        self.assertIn("an administrator can: sudo nvidia-smi -lgc 0,1530", err)
        self.assertIn("W of 1000 W: they rest", err)
        _, err = self.run_job("--set", 'power.hold_by="clocks"', expect=BAD_INPUT, environment=self.environment())
        self.assertIn("power.hold_by goes with power.supply_w, which is not set", err)

    def test_leaves_work_below_the_budget_alone(self):
        out, err = self.run_job("--set", "power.supply_w=1300", *SHORT, environment=self.environment())
        self.assertNotIn("rest", out + err)

    def test_plan_shows_settings_and_warns(self):
        out, _ = self.voltpile("plan", self.job, *ON_ANY, "--cluster", "t180", "--set", "power.supply_w=1400",
                               "--set", "power.ramp_ms=250")
        self.assertIn("power: the GPUs of a node within 1400 W, begun 250 ms apart", out)
        self.assertIn("can draw 1600 W, more than power.supply_w = 1400: its GPUs rest while they would", out)

    def test_driver_that_hangs(self):
        self.node["hang"] = True
        _, err = self.run_job("--set", "power.supply_w=1300", *SHORT, environment=self.environment())
        self.assertIn("no GPU to watch: the NVIDIA driver hangs", err)

    def test_no_driver(self):
        self.node["init"] = 9
        _, err = self.run_job("--set", "power.limit_w=200", *SHORT, environment=self.environment())
        self.assertIn("[power] finds no GPU to set: the NVIDIA driver does not answer: Driver Not Loaded", err)


if __name__ == "__main__":
    unittest.main()
