"""`voltpile check` under mpirun on several nodes: links, clocks and versions of software."""

import json
import pathlib
import unittest

from harness import TIMED_OUT
from voltpile_case import SHARED_CORES, SOURCE, VOLTPILE, VoltpileCase

STAND_IN = pathlib.Path(VOLTPILE).parent / "tests/stand_in"
NODES = ["node1", "node2", "node3"]


class Check(VoltpileCase):
    def check(self, *arguments, odd_one="true", **options):
        """Runs on all nodes; odd_one: a shell command on node2 before. Returns the reports by node."""
        program = self.write("check.sh", f'[ "$(hostname)" != node2 ] || {{ {odd_one}; }}\nexec {VOLTPILE} check "$@"\n')
        log = self.write("empty.log", "")
        command = ["mpirun", "--host", ",".join(NODES), "sh", program, "--json", "--kernel-log", log, *arguments]
        result = self.rack.run("node1", command, env=SHARED_CORES, timeout=150, **options)
        self.assertNotEqual(result.returncode, TIMED_OUT, str(result))
        reports = json.loads(result.stdout[result.stdout.index("["):])
        self.assertEqual([report["node"] for report in reports], NODES)
        return {report["node"]: report for report in reports}

    def texts(self, report, part):
        return [each["text"] for each in report["findings"] if part in each["text"]]

    def test_clock_that_is_ahead(self):
        reports = self.check(odd_one=f"export LD_PRELOAD={STAND_IN}/libshifted_clock.so VOLTPILE_STAND_IN_CLOCK_S=75")
        (text,) = self.texts(reports["node2"], "clock")
        self.assertRegex(text, r"^the clock is 75 s ahead of those of the other nodes \(± \S+ ms\)$")
        for node in NODES:  # nodes of a rack share a clock
            clock, ahead = reports[node]["clock"], 75 if node == "node2" else 0
            self.assertLessEqual(abs(clock["offset_s"] - ahead), clock["uncertainty_s"])
            self.assertLess(clock["uncertainty_s"], 1)
        self.assertEqual(reports["node2"]["verdict"], "degraded")
        for node in ("node1", "node3"):
            self.assertEqual(self.texts(reports[node], "clock"), [])

    def test_slow_node(self):
        self.rack.slow("node2", "4mbit")  # a hundredth of what a busy machine reaches
        reports = self.check("--measure")
        links = {node: {link["to"]: link for link in report["links"]} for node, report in reports.items()}
        for node in NODES:
            self.assertEqual(sorted(links[node]), [other for other in NODES if other != node])
            for link in links[node].values():
                self.assertGreater(link["latency_us"], 0)
        (text,) = self.texts(reports["node2"], "its links to all other nodes are slow")
        self.assertIn("where others reach", text)
        for node in ("node1", "node3"):
            self.assertEqual(self.texts(reports[node], "link to node2"), [])

    def test_node_with_another_driver(self):
        node = json.loads((SOURCE / "tests/stand_in/t180.json").read_text())
        for name, version in (("usual", "535.183.01"), ("other", "550.54.14")):
            self.write(f"{name}.json", json.dumps({**node, "driver_version": version}))
        shared = self.rack.shared
        library = f"export VOLTPILE_NVML={STAND_IN}/libnvidia-ml.so.1 VOLTPILE_STAND_IN_NODE={shared}"
        program = self.write("stand_in.sh", f'{library}/usual.json\n[ "$(hostname)" != node2 ] || {library}/other.json\n'
                                            f'exec {VOLTPILE} check "$@"\n')
        command = ["mpirun", "--host", ",".join(NODES), "sh", program, "--json", "--kernel-log", self.write("empty.log", "")]
        result = self.rack.run("node1", command, env=SHARED_CORES, timeout=150)
        reports = json.loads(result.stdout[result.stdout.index("["):])
        for report in reports:
            version = "550.54.14" if report["node"] == "node2" else "535.183.01"
            self.assertEqual(report["versions"]["NVIDIA driver"], version)
            self.assertIn(f"NVIDIA driver {version}; other nodes have another version", self.texts(report, "driver"))


if __name__ == "__main__":
    unittest.main()
