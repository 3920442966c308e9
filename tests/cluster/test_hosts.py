"""`voltpile hosts` on a rack: what it reports for healthy nodes, and that it names what a test breaks."""

import json
import os
import re
import shutil
import signal

from harness import ClusterCase, wait_for

VOLTPILE = os.environ["VOLTPILE"]
DONE, BAD_INPUT, CANNOT_RUN, STOPPED = 0, 2, 3, 5
NODES = ("node1", "node2", "node3")


class HostsCase(ClusterCase):
    seconds_to_end = 15  # of processes on all nodes, after a test

    def setUp(self):
        self.hosts = self.rack.shared / "HOSTS"
        self.hosts.write_text("".join(f"{node} slots=2\n" for node in NODES))

    def tearDown(self):
        self.rack.clients.clear()
        self.assert_nothing_is_left()
        super().tearDown()

    def voltpile(self, *arguments, host="node1", expect=DONE, program=VOLTPILE, timeout=60):
        return self.rack.run(host, [program, "hosts", *arguments], timeout=timeout, expect=expect)

    def survey(self, *arguments, **options):
        """Returns the survey that --json prints."""
        return json.loads(self.voltpile(self.hosts, "--json", *arguments, **options).stdout)

    def fixes(self, survey):
        return [(finding["hosts"], finding["what"]) for finding in survey["findings"] if finding["must_fix"]]

    def assert_fix(self, survey, hosts, pattern):
        """Asserts that a must-fix finding names exactly these hosts."""
        found = self.fixes(survey)
        self.assertTrue(any(names == list(hosts) and re.search(pattern, what) for names, what in found),
                        f"no finding {pattern} for {hosts} in {found}")

    def assert_nothing_is_left(self):
        """Asserts that no process and no file in the tested folders remains."""
        def processes():
            # Looks through namespaces, which also works for crashed or silenced nodes.
            listing = [self.rack.run(node, ["ps", "-eo", "args"], cwd="/").stdout for node in NODES
                       if self.rack.status()[node][0] != "down"]
            return [line for text in listing for line in text.splitlines()
                    if re.search(r"voltpile.* hosts|mpirun|orted|\bssh -x", line) and "timeout" not in line]
        wait_for(lambda: not processes(), self.seconds_to_end, f"end of {processes()}")
        left = [path.name for folder in (self.rack.shared, *(self.rack.disk(node) for node in NODES))
                for path in folder.iterdir() if path.name.startswith(".voltpile")]
        self.assertEqual(left, [])


class Sound(HostsCase):
    def test_healthy_cluster_has_no_findings(self):
        before = {node: self.rack.bytes_sent(node) for node in NODES}
        result = self.voltpile(self.hosts)
        self.assertLess(result.seconds, 20)
        self.assertIn("All is well: 3 hosts.", result.stdout)
        self.assertNotIn("What to fix", result.stdout)
        self.assertNotIn("\033", result.stdout)  # no colors without a terminal
        self.assertEqual(result.stderr, "")
        for node in NODES:  # at least 256 kB in each direction with each other node
            self.assertGreater(self.rack.bytes_sent(node) - before[node], 1_000_000)

    def test_measured_figures_are_plausible(self):
        survey = self.survey()
        self.assertTrue(survey["ok"])
        self.assertEqual([host["name"] for host in survey["hosts"]], list(NODES))
        self.assertEqual([host["here"] for host in survey["hosts"]], [True, False, False])
        for host in survey["hosts"]:
            report = host["report"]
            self.assertEqual(report["hostname"], host["name"])
            self.assertEqual({name["name"]: name["addresses"] for name in report["names"]},
                             {node: [self.rack.layout.address(node)] for node in NODES})
            # All hosts share the machine's clock.
            self.assertLess(abs(host.get("clock_offset_s", 0)), host.get("clock_uncertainty_s", 0) + 0.01)
            self.assertEqual(sorted(c["host"] for c in host["connections"]), sorted(set(NODES) - {host["name"]}))
            self.assertEqual([c["error"] for c in host["connections"]], ["", ""])
            self.assertIn("Open MPI", [library["name"] for library in report["libraries"]])
            self.assertIn(report["cores"], range(1, os.cpu_count() + 1))
        links = survey["links"]
        self.assertEqual(links["hosts"], list(NODES))
        self.assertEqual([end["device"] for end in links["ends"]], ["eth0"] * 3)
        self.assertGreater(links["ring_hop_us"], 0)
        for a in range(3):
            for b in range(3):
                (self.assertEqual if a == b else self.assertGreater)(links["bytes_per_s"][a][b], 0)

    def test_unlisted_local_host_takes_part(self):
        survey = self.survey(host="head")
        asker = survey["hosts"][-1]
        self.assertEqual((asker["name"], asker["here"], asker["listed"]), ("head", True, False))
        self.assertEqual(sorted(c["host"] for c in asker["connections"]), list(NODES))
        self.assertEqual(survey["links"]["hosts"], list(NODES))  # mpirun starts no rank on the unlisted host

    def test_accepts_host_list(self):
        self.assertIn("All is well: 2 hosts.", self.voltpile("--host", "node1:2,node3:2").stdout)

    def test_one_host_has_no_links(self):
        out = self.voltpile("--host", "node1").stdout
        self.assertIn("All is well: 1 host.", out)
        self.assertNotIn("bandwidth", out)

    def test_remarks_on_node_local_folder(self):
        survey = self.survey("--folder", self.rack.local)
        self.assertTrue(survey["ok"])
        remarks = [finding for finding in survey["findings"] if "gathered from the host's own disk" in finding["what"]]
        self.assertEqual([finding["hosts"] for finding in remarks], [["node2", "node3"]])

    def test_names_slow_link_and_measures_its_speed(self):
        self.rack.slow("node3", "80mbit")  # 10 MB/s
        survey = self.survey(expect=CANNOT_RUN)
        self.assert_fix(survey, ["node3"], "the links to all other hosts are slow")
        self.assertEqual(len(self.fixes(survey)), 1)
        rates = survey["links"]["bytes_per_s"]
        for a, b in ((0, 2), (2, 0), (1, 2), (2, 1)):
            # The first burst passes at full speed, and a busy machine may not reach the rate.
            self.assertTrue(3e6 < rates[a][b] < 12e6, rates)
        self.assertGreater(rates[0][1], 30e6)


class BadInput(HostsCase):
    def test_rejects_invalid_host_files(self):
        for text, problems in (
                ("", ["HOSTS: no hosts"]),
                ("# nothing\n\n", ["HOSTS: no hosts"]),
                ("node1 slots=2\nnode2\nnode1\n", ["HOSTS:3: node1 is already on line 1"]),
                ("node1 slots=no\nnode2 slots=0\nnode3 slot=1\n-oProxyCommand=x\n",
                 ["HOSTS:1: slots=no", "HOSTS:2: slots=0", 'HOSTS:3: unknown setting "slot"', 'HOSTS:4: "-oProxyCommand=x" is not a host name'])):
            with self.subTest(text):
                self.hosts.write_text(text)
                result = self.voltpile("HOSTS", expect=BAD_INPUT)
                lines = result.stderr.splitlines()
                self.assertEqual(len(lines), len(problems), result.stderr)
                for line, problem in zip(lines, problems):
                    self.assertTrue(line.startswith(problem), f"{line!r} instead of {problem!r}")

    def test_arguments(self):
        self.assertIn("cannot read nowhere: No such file", self.voltpile("nowhere", expect=BAD_INPUT).stderr)
        self.assertIn("no hosts given", self.voltpile(expect=BAD_INPUT).stderr)


class Broken(HostsCase):
    """Each test breaks one thing, and `voltpile hosts` must name exactly that."""

    def only_fix(self, hosts, pattern, *arguments, **options):
        survey = self.survey(*arguments, expect=CANNOT_RUN, **options)
        self.assert_fix(survey, hosts, pattern)
        self.assertEqual(len(self.fixes(survey)), 1, self.fixes(survey))
        self.assertIsNone(survey["links"])
        return survey

    def bind(self, node, source, target):
        self.rack.run(node, ["mount", "-n", "--bind", source, target], expect=0)
        self.addCleanup(self.rack.run, node, ["umount", "-n", "-l", target])

    def test_host_is_off(self):
        self.rack.crash("node2")
        result = self.voltpile(self.hosts, expect=CANNOT_RUN)
        self.assertLess(result.seconds, 20)
        self.assertRegex(result.stdout, r"node2 +fix 1\n")
        self.assertRegex(result.stdout, r"1\. node2: cannot be reached")
        self.assertIn("The links have not been measured", result.stdout)

    def test_host_drops_all_packets(self):
        self.rack.silence("node3")
        self.only_fix(["node3"], "cannot be reached")

    def test_unknown_name(self):
        self.hosts.write_text("node1\nnode2\nnode9\n")
        self.only_fix(["node9"], "does not know the name")

    def test_no_ssh_server(self):
        self.rack.run("node2", ["sh", "-c", "kill $(cat /run/sshd.pid)"], expect=0)
        self.only_fix(["node2"], "ssh connections are refused")
        self.rack.crash("node2")
        self.rack.boot("node2")

    def test_ssh_keys(self):
        known, accepted = (self.rack.layout.folder / "ssh" / name for name in ("known_hosts", "authorized_keys"))
        for path, text, hosts, pattern in (
                (known, "", ["node2", "node3"], "does not know its host key"),
                (accepted, "", ["node2", "node3"], "your key is not accepted"),
                (known, known.read_text().replace("node3,", "").replace(",10.77.0.3", "") +
                 f"node3 {(self.rack.layout.folder / 'ssh/id.pub').read_text()}", ["node3"], "host key has changed")):
            with self.subTest(pattern):
                good = path.read_text()
                path.write_text(text)
                try:
                    self.only_fix(hosts, pattern)
                finally:
                    path.write_text(good)

    def test_different_programs(self):
        program = self.rack.local / "voltpile"
        for node in NODES:
            shutil.copy(VOLTPILE, self.rack.disk(node) / "voltpile")
        self.assertTrue(self.survey(program=program)["ok"])
        with open(self.rack.disk("node3") / "voltpile", "ab") as file:
            file.write(b"x")
        self.only_fix(["node3"], "another build of voltpile", program=program)
        shutil.copy("/bin/false", self.rack.disk("node3") / "voltpile")
        self.only_fix(["node3"], "does not work there: exited with code 1", program=program)
        (self.rack.disk("node3") / "voltpile").chmod(0o644)
        self.only_fix(["node3"], "exists but is not executable", program=program)
        (self.rack.disk("node3") / "voltpile").unlink()
        self.only_fix(["node3"], f"there is no {program}", program=program)

    def test_missing_library(self):
        out = self.rack.run("node1", ["ldd", VOLTPILE], expect=0).stdout
        library = re.search(r"=> (\S*libfmt\S*)", out).group(1)
        self.bind("node2", "/dev/null", os.path.realpath(library))
        self.only_fix(["node2"], "does not work there: .*libfmt")

    def test_another_mpirun(self):
        script = self.rack.shared / "mpirun"
        script.write_text("#!/bin/sh\necho 'mpirun (Open MPI) 3.1.6'\n")
        script.chmod(0o755)
        self.bind("node3", script, os.path.realpath("/usr/bin/mpirun"))
        self.only_fix(["node3"], r"is that of Open MPI 3\.1\.6, but voltpile uses Open MPI")

    def test_misresolved_names(self):
        path = self.rack.layout.own("node2") / "hosts"
        good = path.read_text()
        self.addCleanup(path.write_text, good)
        for line, pattern in (("127.0.1.1 node3", "node3 resolves to 127.0.1.1, which is the host itself"),
                              ("10.77.0.9 node3", "node3 resolves to 10.77.0.9, but its address is 10.77.0.3"),
                              ("10.77.0.3 other", "the name node3 is unknown there")):
            with self.subTest(line):
                path.write_text(good.replace("10.77.0.3 node3", line))
                self.only_fix(["node2"], pattern)

    def test_remarks_on_debians_loopback_name(self):
        for node in NODES:
            path = self.rack.layout.own(node) / "hosts"
            good = path.read_text()
            self.addCleanup(path.write_text, good)
            path.write_text(good.replace(f"{self.rack.layout.address(node)} {node}", f"127.0.1.1 {node}"))
        survey = self.survey()
        self.assertTrue(survey["ok"])
        self.assertIn((list(NODES), True), [(finding["hosts"], "own name resolves to" in finding["what"])
                                            for finding in survey["findings"]])
        self.assertEqual([end["device"] for end in survey["links"]["ends"]], ["eth0"] * 3)

    def test_duplicate_host_names(self):
        self.rack.run("node3", ["hostname", "node2"], expect=0)
        self.addCleanup(self.rack.run, "node3", ["hostname", "node3"])
        self.only_fix(["node2", "node3"], "have the same host name")

    def test_folder_missing_on_one_host(self):
        self.rack.hide("node2")
        missing = self.rack.shared / "results"
        missing.mkdir()
        self.only_fix(["node2"], "there is no folder", "--folder", missing)

    def test_read_only_folder(self):
        self.bind("node3", self.rack.shared, self.rack.shared)
        self.rack.run("node3", ["mount", "-n", "-o", "remount,bind,ro", self.rack.shared], expect=0)
        self.only_fix(["node3"], "cannot be written: Read-only file system")

    def test_firewall_between_two_hosts(self):
        rule = ["to", "10.77.0.3", "ipproto", "tcp", "dport", "1024-65534", "prohibit"]
        self.rack.run("node2", ["ip", "rule", "add", *rule], expect=0)
        self.addCleanup(self.rack.run, "node2", ["ip", "rule", "del", *rule])
        survey = self.survey(expect=CANNOT_RUN)
        self.assert_fix(survey, ["node2"], r"cannot connect to node3 \(10\.77\.0\.3\)")
        # The rule is stateless, so it also blocks the answers to node3's connections.
        self.assert_fix(survey, ["node3"], r"cannot connect to node2 \(10\.77\.0\.2\)")
        self.assertEqual(len(self.fixes(survey)), 2)

    def test_large_packets_are_dropped(self):
        # As with a switch that drops long packets: small messages pass, large ones hang.
        self.rack.run("node3", ["ip", "link", "set", "dev", "eth0", "mtu", "1000"], expect=0)
        self.addCleanup(self.rack.run, "node3", ["ip", "link", "set", "dev", "eth0", "mtu", "1500"])
        result = self.voltpile(self.hosts, expect=None, timeout=120)
        self.assertIn(result.returncode, (DONE, CANNOT_RUN), str(result))
        self.assertIn("has MTU 1000, most others 1500", result.stdout)


class Interrupted(HostsCase):
    def start(self):
        for node in NODES:
            self.rack.slow(node, "10mbit")  # makes the measurement slow
        client = self.rack.start("node1", [VOLTPILE, "hosts", self.hosts])
        def measuring():
            out = self.rack.run("node3", ["ps", "-eo", "args"]).stdout
            return re.search(r"voltpile hosts --probe", out)
        wait_for(measuring, 30, "ranks on node3")
        return client

    def test_interrupted_by_user(self):
        client = self.start()
        client.signal(signal.SIGINT)
        result = client.wait()
        self.assertEqual(result.returncode, STOPPED, str(result))
        self.assertLess(result.seconds, 40)

    def test_killed(self):
        client = self.start()
        client.signal(signal.SIGKILL)
        client.wait()
        # tearDown checks that nothing is left.

    def test_link_cut_while_measuring(self):
        client = self.start()
        # TCP doubles its pauses, so node3 may notice long after the cut that mpirun has gone. Its rank ends itself after
        # 66 s (life_limit of link_probe.cpp).
        self.seconds_to_end = 90
        self.rack.cut("node3")
        result = client.wait()
        self.assertEqual(result.returncode, CANNOT_RUN, str(result))
        self.assertIn("What to fix", result.stdout)
        self.assertIn("node3", result.stdout)
        self.rack.heal("node3")
