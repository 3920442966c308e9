"""The rack itself: its hosts, network and folders."""

import re
import signal
import unittest

from harness import TIMED_OUT, ClusterCase, wait_for

ONE_PING = ("ping", "-n", "-c", "1", "-W", "1")
MEGABYTE = 1 << 20


class Hosts(ClusterCase):
    def ping(self, origin, target):
        return self.rack.run(origin, [*ONE_PING, target]).returncode == 0

    def send(self, origin, target, megabytes):
        command = f"head -c {megabytes}M /dev/zero | ssh {target} 'cat > /dev/null'"
        return self.rack.run(origin, ["sh", "-c", command], expect=0, timeout=120).seconds

    def test_ssh_both_ways_between_all(self):
        hosts = self.rack.layout.hosts
        loop = "for host in " + " ".join(hosts) + "; do ssh $host 'echo $(hostname) from $SSH_CLIENT'; done"
        for origin in hosts:
            result = self.rack.run(origin, ["sh", "-c", loop], expect=0)
            lines = [line.split()[:3] for line in result.stdout.splitlines()]
            self.assertEqual(lines, [[host, "from", self.rack.layout.address(origin)] for host in hosts], str(result))

    def test_addresses_work_like_names(self):
        address = self.rack.layout.address("node3")
        self.assertEqual(self.rack.run("node1", ["ssh", address, "hostname"], expect=0).stdout, "node3\n")

    def test_hosts_share_only_the_network(self):
        for host in self.rack.layout.hosts:
            self.rack.run(host, ["sh", "-c", "hostname > /dev/shm/mark; hostname > /run/mark"], expect=0)
        for host in self.rack.layout.hosts:
            out = self.rack.run(host, ["sh", "-c", "cat /dev/shm/mark /run/mark /etc/hostname; hostname; "
                                                   "ls /sys/class/net; ls -d /proc/[0-9]* | wc -l"], expect=0).stdout
            *words, processes = out.split()
            self.assertEqual(words, [host] * 4 + ["eth0", "lo"])
            self.assertLess(int(processes), 10)  # its own processes only

    def test_shared_and_local_folders(self):
        rack = self.rack
        rack.run("node1", ["sh", "-c", f"echo one > {rack.shared}/file; echo one > {rack.local}/file"], expect=0)
        rack.run("node2", ["sh", "-c", f"echo two > {rack.local}/file"], expect=0)
        for host, here in (("node1", "one"), ("node2", "two")):
            out = rack.run(host, ["cat", rack.shared / "file", rack.local / "file"], expect=0).stdout
            self.assertEqual(out.split(), ["one", here])
            self.assertEqual((rack.disk(host) / "file").read_text().strip(), here)
        self.assertFalse((rack.disk("node3") / "file").exists())

    def test_shared_folder_missing_on_one_host(self):
        (self.rack.shared / "there").touch()
        listing = ["ls", self.rack.shared / "there"]
        self.rack.hide("node2")
        self.assertNotEqual(self.rack.run("node2", listing, cwd="/").returncode, 0)
        self.rack.run("node1", listing, expect=0)
        self.rack.show("node2")
        self.rack.run("node2", listing, expect=0)

    def test_crash_and_boot(self):
        rack = self.rack
        rack.run("node2", ["sh", "-c", f"echo kept > {rack.local}/kept; echo lost > /run/lost"], expect=0)
        victim = rack.start("node2", ["sleep", "600"])
        inside = victim.pid()
        rack.crash("node2")
        self.assertEqual(victim.wait().returncode, -signal.SIGKILL)
        wait_for(lambda: not _exists(inside), 5, "end of the program on the crashed node")
        self.assertEqual(rack.status()["node2"], ["down"])
        self.assertFalse(self.ping("node1", "node2"))
        rack.boot("node2")
        out = rack.run("node1", ["ssh", "node2", f"hostname; ls {rack.local} /run/lost"]).stdout
        self.assertIn("node2", out)
        self.assertIn("kept", out)
        self.assertNotIn("lost", out)

    def test_head_can_crash(self):
        self.rack.crash("head")
        self.assertTrue(self.ping("node1", "node2"), "the switch must not depend on the head")
        self.rack.boot("head")
        self.assertTrue(self.ping("head", "node3"))

    def test_cut_and_silent_links(self):
        carrier = ["cat", "/sys/class/net/eth0/carrier"]
        for action, seen in ((self.rack.cut, "0"), (self.rack.silence, "1")):
            action("node2")
            self.assertEqual(self.rack.run("node2", carrier).stdout.strip(), seen)
            self.assertFalse(self.ping("node1", "node2"))
            self.assertFalse(self.ping("node2", "node1"))
            self.assertTrue(self.ping("node1", "node3"), "other links must not suffer")
            self.rack.heal("node2")
            self.assertEqual(self.rack.run("node2", carrier).stdout.strip(), "1")
            wait_for(lambda: self.ping("node1", "node2"), 5, "the healed link to work")

    def test_slow_link(self):
        megabytes, rate = 4, 20e6
        self.rack.slow("node2", "20mbit")
        slowed = {way: self.send(*way, megabytes) for way in (("node1", "node2"), ("node2", "node1"))}
        self.rack.fast("node2")
        for way, seconds in slowed.items():
            # A token bucket passes its burst of 128 KiB at once and the rest at the rate.
            self.assertGreater(seconds, (megabytes * MEGABYTE - 128 * 1024) * 8 / rate)
            self.assertLess(self.send(*way, megabytes), seconds)

    def test_lossy_link(self):
        def answers(node, count=300):
            out = self.rack.run("node1", ["ping", "-n", "-q", "-c", str(count), "-i", "0.005", "-W", "5", node]).stdout
            return int(re.search(r"(\d+) received", out)[1]) / count
        self.rack.lossy("node2", 30)
        self.assertEqual(answers("node3", 50), 1, "other links must not suffer")
        # An answer needs both directions: 0.7 * 0.7 = 0.49, with a standard deviation of 0.03.
        self.assertAlmostEqual(answers("node2"), 0.49, delta=0.15)
        self.rack.lossy("node2", 100)
        self.assertEqual(answers("node2", 5), 0)
        self.rack.lossy("node2", 0)
        self.assertEqual(answers("node2", 50), 1)

    def test_counters_match_traffic(self):
        before = {node: self.rack.byte_counts(node) for node in self.rack.layout.nodes}
        self.send("node1", "node2", 10)
        received, sent = ({node: self.rack.byte_counts(node)[i] - before[node][i] for node in before} for i in (0, 1))
        for count in (sent["node1"], received["node2"]):
            self.assertGreater(count, 10 * MEGABYTE)
            self.assertLess(count, 12 * MEGABYTE)  # headers and ssh add a few percent
        for count in (sent["node2"], received["node1"], received["node3"], sent["node3"]):
            self.assertLess(count, MEGABYTE)

    def test_mpirun_over_ssh(self):
        for origin in ("head", "node1"):
            result = self.rack.run(origin, ["mpirun", "-np", "6", "--host", "node1:2,node2:2,node3:2", "hostname"],
                                   expect=0)
            self.assertEqual(sorted(result.stdout.split()), ["node1"] * 2 + ["node2"] * 2 + ["node3"] * 2)


class Programs(ClusterCase):
    """How the harness runs programs."""

    nodes = 2

    def test_result(self):
        result = self.rack.run("node1", ["sh", "-c", "cat; echo $GIVEN; pwd; echo bad >&2; exit 7"], stdin="in\n",
                               env={"GIVEN": "x"}, cwd="/usr")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (7, "in\nx\n/usr\n", "bad\n"))
        with self.assertRaisesRegex(AssertionError, "expected exit 0.*exit 3"):
            self.rack.run("node1", ["sh", "-c", "exit 3"], expect=0)

    def test_environment_is_a_login_environment(self):
        out = self.rack.run("node1", ["env"], expect=0).stdout
        # Apart from what hides the machine's GPUs, nothing of the program's.
        ours = {line.split("=")[0] for line in out.splitlines() if line.startswith("VOLTPILE")}
        self.assertEqual(ours, {"VOLTPILE_NVML", "VOLTPILE_SYS"})
        self.assertIn(f"RACK={self.rack.layout.folder}\n", out)

    def test_time_limit(self):
        self.assertEqual(self.rack.run("node1", ["sleep", "60"], timeout=0.2).returncode, TIMED_OUT)

    def test_signal(self):
        script = "trap 'echo got; exit 9' USR1; echo ready; while :; do sleep 0.01; done"
        client = self.rack.start("node1", ["sh", "-c", script])
        wait_for(lambda: client.stdout == "ready\n", 5, "start of the script")
        client.signal(signal.SIGUSR1)
        result = client.wait()
        self.assertEqual((result.returncode, result.stdout), (9, "ready\ngot\n"))

    def test_signal_after_end_fails(self):
        client = self.rack.start("node1", ["true"])
        client.wait()
        with self.assertRaisesRegex(AssertionError, "no longer running: true on node1: exit 0"):
            client.signal(signal.SIGKILL)

    def test_ending_a_client_ends_its_program(self):
        client = self.rack.start("node1", ["sleep", "600"])
        inside = client.pid()
        client.end()
        wait_for(lambda: not _exists(inside), 5, "end of the program")

    def test_restore_leaves_nothing_behind(self):
        self.rack.cut("node1")
        self.rack.crash("node2")
        client = self.rack.start("head", ["sleep", "600"])
        self.rack.restore()
        self.assertFalse(client.running())
        self.assertEqual(self.rack.status(), {host: ["up"] for host in self.rack.layout.hosts})


def _exists(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__":
    unittest.main()
