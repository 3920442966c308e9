"""A rack leaves nothing behind, however it ends, and does not touch anything else."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest

from harness import Rack, wait_for
from racklib.errors import CannotRun
from racklib.rack import check_machine

HERE = pathlib.Path(__file__).resolve().parent
RACK = HERE / "rack"

OWNER = """
import sys
sys.path.insert(0, {here!r})
from harness import Rack
rack = Rack(nodes=2)
client = rack.start("node1", ["sleep", {mark!r}])
client.pid()
print(rack.layout.folder, flush=True)
client.wait()
"""


def processes_with(*words):
    """Returns the command lines of processes that contain one of the words."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if folder.name.isdigit() and int(folder.name) != os.getpid() and any(word in line for word in words):
            found.append(f"{folder.name} {line}")
    return found


def mounts_with(word):
    return [line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines() if word in line]


def own_network():
    """Returns the state of the machine's network, which a rack must not change."""
    commands = (["ip", "-o", "link"], ["ip", "-o", "addr"], ["ip", "route"], ["tc", "qdisc"])
    outputs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for command in commands]
    return [" ".join(word for word in line.split() if not word.endswith("sec")) for out in outputs
            for line in out.splitlines()]


def rack_command(*arguments, folder=None, **options):
    where = ["--dir", str(folder)] if folder else []
    return subprocess.run([RACK, arguments[0], *where, *arguments[1:]], capture_output=True, text=True, timeout=60,
                          check=False, **options)


class Life(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            check_machine(needs_slurm=False)
        except CannotRun as error:
            raise unittest.SkipTest(str(error)) from None

    def setUp(self):
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="voltpile-rack-life-"))
        self.addCleanup(shutil.rmtree, self.base, ignore_errors=True)
        self.folder = self.base / "rack"
        self.mark = f"86400.{os.getpid()}{id(self) % 1000:03}"  # seconds for `sleep`, which identify it

    def assert_nothing_left(self, folder, timeout=10):
        wait_for(lambda: not processes_with(str(folder), self.mark), timeout,
                 "processes of the rack to end")
        self.assertEqual(mounts_with(str(folder)), [])

    def start_owner(self):
        script = textwrap.dedent(OWNER).format(here=str(HERE), mark=self.mark)
        owner = subprocess.Popen([sys.executable, "-B", "-c", script], stdout=subprocess.PIPE, text=True,
                                 stderr=subprocess.DEVNULL)
        self.addCleanup(owner.stdout.close)
        self.addCleanup(owner.wait)
        self.addCleanup(owner.kill)
        folder = pathlib.Path(owner.stdout.readline().strip())
        self.assertTrue((folder / "rack.json").exists())
        self.assertTrue(processes_with(self.mark))
        return owner, folder

    def test_owner_killed(self):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=number):
                owner, folder = self.start_owner()
                owner.send_signal(number)
                owner.wait()
                self.assert_nothing_left(folder)
                self.assertFalse(folder.exists())

    def test_guardian_killed(self):
        self.assertEqual(rack_command("up", "--nodes", "2", folder=self.folder).returncode, 0)
        pid = int((self.folder / "run/guardian.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not processes_with(str(self.folder)), 10, "processes of the rack to end")
        self.assertIn("is dead (rack down", rack_command("status", folder=self.folder).stderr)
        self.assertEqual(rack_command("down", folder=self.folder).returncode, 0)
        self.assertFalse(self.folder.exists())

    def test_killed_while_coming_up(self):
        for milliseconds in (60, 120, 200):
            with self.subTest(milliseconds=milliseconds):
                starting = subprocess.Popen([RACK, "up", "--dir", str(self.folder)], stdout=subprocess.DEVNULL)
                try:
                    starting.wait(timeout=milliseconds / 1000)
                except subprocess.TimeoutExpired:
                    starting.kill()
                    starting.wait()
                    self.assert_nothing_left(self.folder)
                else:
                    self.assertEqual(rack_command("down", folder=self.folder).returncode, 0)
        done = rack_command("up", folder=self.folder)  # leftovers must not prevent this
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(rack_command("down", folder=self.folder).returncode, 0)
        self.assert_nothing_left(self.folder)

    def test_command_line(self):
        before = own_network()
        up = rack_command("up", "--nodes", "2", folder=self.folder)
        self.assertEqual(up.returncode, 0, up.stderr)
        self.addCleanup(rack_command, "down", folder=self.folder)
        self.assertEqual(own_network(), before)
        self.assertEqual(rack_command("status", folder=self.folder).stdout.split(),
                         ["head", "up", "node1", "up", "node2", "up"])
        shell = rack_command("sh", "node1", "sh", "-c", "ssh node2 hostname; exit 6", folder=self.folder)
        self.assertEqual((shell.returncode, shell.stdout), (6, "node2\n"), shell.stderr)
        shell = rack_command("sh", "node2", folder=self.folder, input="hostname\n")
        self.assertEqual((shell.returncode, shell.stdout), (0, "node2\n"), shell.stderr)
        for command in (("cut", "node1"), ("heal", "node1"), ("silence", "node1"), ("heal", "node1"),
                        ("slow", "node1", "100mbit"), ("fast", "node1"), ("lossy", "node1", "5"),
                        ("lossy", "node1", "0"), ("hide", "node1"), ("show", "node1"),
                        ("crash", "node1"), ("boot", "node1"), ("down",)):
            done = rack_command(*command, folder=self.folder)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""), command)
        self.assertFalse(self.folder.exists())
        self.assert_nothing_left(self.folder)
        self.assertEqual(own_network(), before)

    def test_command_line_errors(self):
        def says(text, *arguments, folder=self.folder):
            done = rack_command(*arguments, folder=folder)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertIn(text, done.stderr)
        says("no rack in", "status")
        says("no rack in", "down")
        says("2 to 8 nodes, not 9", "up", "--nodes", "9")
        says("nodes have their own /run", "up", folder="/run/voltpile-rack")
        says("is not empty", "up", folder=HERE)
        says("no process", "up", "--owner", str(2**31 - 1))
        self.assertEqual(rack_command("up", "--nodes", "2", folder=self.folder).returncode, 0)
        self.addCleanup(rack_command, "down", folder=self.folder)
        says("a rack is up in", "up")
        says("no host node3 in this rack: head, node1, node2", "crash", "node3")
        says("this rack has no Slurm", "slurmctld", "kill")
        says("cannot slow down node1 to 200cows", "slow", "node1", "200cows")
        says("0 to 100 percent, not 101", "lossy", "node1", "101")
        says("node1 is up", "boot", "node1")
        self.assertEqual(rack_command("crash", "node1", folder=self.folder).returncode, 0)
        for command in ("sh", "crash", "cut", "silence", "heal", "hide"):
            says("node1 is down (rack boot node1)", command, "node1")

    def test_two_racks_are_independent(self):
        try:
            check_machine(needs_slurm=True)
        except CannotRun as error:
            self.skipTest(str(error))
        with Rack(nodes=2, with_slurm=True) as one:
            with Rack(nodes=2, with_slurm=True) as other:
                for rack, word in ((one, "one"), (other, "other")):
                    path = rack.shared / "word"
                    script = f"echo {word} > {path}; cat {path}; ssh node2 cat {path}"
                    self.assertEqual(rack.run("node1", ["sh", "-c", script], expect=0).stdout.split(), [word] * 2)
                # Names, addresses, ports and job numbers are equal; each rack sees its own.
                before = one.bytes_sent("node1"), one.bytes_sent("node2")
                job = other.sbatch(f"#!/bin/sh\nsrun -N2 --mpi=pmix hostname\nmpirun hostname\n"
                                   f"dd if=/dev/zero bs=1M count=4 | ssh node1 cat | ssh node2 'cat >/dev/null'\n",
                                   "-N2", "--ntasks-per-node=1", "-o", other.shared / "job.out")
                other.wait_job(job, "COMPLETED", 30)
                words = (other.shared / "job.out").read_text().split()
                self.assertEqual([words.count(node) for node in ("node1", "node2")], [2, 2], words)
                self.assertEqual(one.head("squeue", "-h", "-t", "all"), "")
                for node, sent in zip(("node1", "node2"), before):
                    self.assertLess(one.bytes_sent(node) - sent, 1 << 20)
                self.assertEqual(one.sbatch("#!/bin/sh\nsleep 600\n", "-N2", "-o", "/dev/null"), job)
                one.wait_job(job, "RUNNING", 10)
                other.slurmctld("kill")
                other.crash("node2")
                one.run("node1", ["ssh", "node2", "true"], expect=0)
                one.head("srun", "-N2", "true")
            self.assertFalse(other.layout.folder.exists())
            self.assertEqual(one.job(job)["JobState"], "RUNNING")
            one.run("node1", ["ssh", "node2", "true"], expect=0)
        self.assertFalse(one.layout.folder.exists())

    def test_without_root(self):
        nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        script = self.base / "copy"  # user nobody may have no access to the checkout
        shutil.copytree(HERE, script, ignore=shutil.ignore_patterns("__pycache__"))
        self.base.chmod(0o755)
        done = subprocess.run([*nobody, script / "rack", "up", "--dir", "/tmp/voltpile-nobody"], capture_output=True,
                              text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (3, "rack: needs root to create network namespaces\n"))
        temporary = self.base / "tmp"
        temporary.mkdir()
        temporary.chmod(0o777)
        done = subprocess.run([*nobody, script / "run_tests.py", "test_rack"], capture_output=True, text=True,
                              check=False, env=os.environ | {"TMPDIR": str(temporary)})
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertEqual(list(temporary.iterdir()), [])
        self.assertIn("skipped: setUpClass (test_rack.Hosts): needs root", done.stderr)


if __name__ == "__main__":
    unittest.main()
