"""A link that is cut under mpirun ends the job in seconds, also where TCP alone would try for a quarter of an hour. One that
only drops packets does not."""

import signal
import time
import unittest

from harness import wait_for
from voltpile_case import SHARED_CORES, VOLTPILE, VoltpileCase, fields, map_job

KEEPALIVE = ("--mca", "oob_tcp_keepalive_time", "5", "--mca", "oob_tcp_keepalive_intvl", "1",
             "--mca", "oob_tcp_keepalive_probes")
PROBES = "3"
PROBES_OF_LOSSY_LINK = "12"  # 3 in a row are lost once in a hundred times where a tenth of all packets is, both ways
# Rank 0 waits 15 s for a sign of life; the guard of a job that is done waits 30 s more. Each gives mpirun some seconds.
LIMIT_S = 60


class CutLink(VoltpileCase):
    nodes = 2

    def start_job(self, output, job, probes=PROBES):
        command = ["mpirun", *KEEPALIVE, probes, "--host", "node1:2,node2:1", VOLTPILE, "run", job, "--output", output]
        return self.rack.start("node1", command, env=SHARED_CORES, timeout=120)

    def silence(self, job):
        """Cuts the link while mpirun has a message for the other node in flight, which suspends TCP's keepalive."""
        self.rack.silence("node2")
        job.signal(signal.SIGUSR1)
        return time.monotonic()

    def voltpiles(self, node):
        return self.rack.run(node, ["pgrep", "-cx", "voltpile"]).stdout.strip()

    def sent_again(self):
        """Returns how many TCP segments both nodes have had to send again."""
        texts = [self.rack.run(node, ["cat", "/proc/net/snmp"]).stdout for node in ("node1", "node2")]
        rows = [[line.split() for line in text.splitlines() if line.startswith("Tcp:")] for text in texts]
        return sum(int(numbers[names.index("RetransSegs")]) for names, numbers in rows)

    def test_while_it_computes(self):
        job = self.write("map.toml", map_job(x=80, y=60, steps=200000, range_points=40))
        output = self.rack.shared / "computing.h5"
        run = self.start_job(output, job)
        self.wait_for_parts(output, 3)
        since = self.silence(run)
        result = run.wait()
        self.assertLess(time.monotonic() - since, LIMIT_S, str(result))
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"rank 2 on node2 has been silent for \d+ s")
        print(f"noticed after {time.monotonic() - since:.1f} s", flush=True)
        # mpirun does not wait for the ranks that it kills.
        wait_for(lambda: self.voltpiles("node1") == "0", 20, "the end of all ranks on node1")
        self.rack.heal("node2")
        expected = self.alone(self.write("small.toml", map_job()), "alone.h5")
        resumed = self.rack.run("node1", [VOLTPILE, "run", self.write("small.toml", map_job()), "--output", "again.h5"])
        self.assertEqual(resumed.returncode, 0)
        self.assertEqual(fields(self.rack.shared / "again.h5"), expected)

    def test_that_drops_packets_delays_the_job_only(self):
        job = self.write("lossy.toml", map_job(x=60, y=40, steps=40000, range_points=10))
        output = self.rack.shared / "lossy.h5"
        run = self.start_job(output, job, PROBES_OF_LOSSY_LINK)
        self.wait_for_parts(output, 3)
        before = self.sent_again()
        self.rack.lossy("node2", 10)
        result = run.wait()
        self.assertEqual(result.returncode, 0, str(result))
        self.assertGreater(self.sent_again(), before)
        self.assertEqual(fields(output), self.alone(job, "lossy-alone.h5"))

    def test_after_the_result(self):
        job = self.write("short.toml", map_job())
        output = self.rack.shared / "done.h5"
        run = self.start_job(output, job)
        while run.running() and "result: " not in run.stdout:
            time.sleep(0.005)
        since = self.silence(run)
        result = run.wait()
        self.assertLess(time.monotonic() - since, LIMIT_S, str(result))
        self.assertEqual(fields(output), self.alone(job, "done-alone.h5"))


if __name__ == "__main__":
    unittest.main()
