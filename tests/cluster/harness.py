"""Support for tests on a rack: brings one up for a test class, runs programs on its hosts and waits for events."""

import dataclasses
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from racklib import slurm
from racklib.errors import CannotRun
from racklib.processes import children
from racklib.rack import Rack as PlainRack

TIMED_OUT = 124
_KILL_AFTER_S = 5


def wait_for(predicate, timeout, what, interval=0.05):
    """Returns the first true value of predicate(). Fails with `what` after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout} s: {what}")
        time.sleep(interval)


@dataclasses.dataclass(frozen=True)
class Result:
    host: str
    command: list
    returncode: int  # TIMED_OUT after the time limit; -N if signal N ended it (9 if its host crashed)
    stdout: str
    stderr: str
    seconds: float

    def __str__(self):
        return (f"{shlex.join(self.command)} on {self.host}: exit {self.returncode} after {self.seconds:.1f} s\n"
                f"--- stdout\n{self.stdout}--- stderr\n{self.stderr}---")


class Client:
    """A program running on a host. It writes to files, because orphans could hold a pipe open."""

    def __init__(self, rack, host, command, environment, folder, timeout, input_text):
        self.host, self.command = host, [str(word) for word in command]
        self._timeout, self._begin = timeout, time.monotonic()
        self._files = [rack.output_file(host, self.command[0], kind) for kind in ("out", "err")]
        source = pathlib.Path(os.devnull)
        if input_text:
            source = rack.output_file(host, self.command[0], "in")
            source.write_text(input_text)
        limited = ["timeout", "-k", str(_KILL_AFTER_S), str(timeout), *self.command]
        with open(source, "rb") as stdin, open(self._files[0], "wb") as out, open(self._files[1], "wb") as err:
            self._process = rack.popen(host, ["env", "-C", str(folder), *limited], stdin=stdin, stdout=out, stderr=err,
                                       env=rack.layout.environment() | {k: str(v) for k, v in environment.items()})
        rack.clients.append(self)

    @property
    def stdout(self):
        """Returns what it has written so far."""
        return self._files[0].read_text(errors="replace")

    @property
    def stderr(self):
        return self._files[1].read_text(errors="replace")

    def running(self):
        return self._process.poll() is None

    def wait(self):
        """Waits for the end, which the time limit guarantees. Returns the Result."""
        grace = self._begin + self._timeout + 2 * _KILL_AFTER_S - time.monotonic()
        try:
            self._process.wait(timeout=max(grace, 0.1))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        return Result(self.host, self.command, self._process.returncode, self.stdout, self.stderr,
                      time.monotonic() - self._begin)

    def pid(self):
        """Returns the process number of the program on this machine (not on its host)."""
        def below_timeout():  # nsenter -> timeout -> the program
            timeouts = [pid for pid in children(self._process.pid) if _name(pid) == "timeout"]
            return next((pid for parent in timeouts for pid in children(parent) if _name(pid) != "timeout"), 0)
        found = wait_for(lambda: below_timeout() or (not self.running() and "none"), 10, f"start of {self.command[0]}")
        if found == "none":
            raise AssertionError(f"no longer running: {self.wait()}")
        return found

    def signal(self, number):
        os.kill(self.pid(), number)

    def terminate(self):
        """Sends SIGTERM; `timeout` kills it after a few seconds."""
        while self.running():
            inside = children(self._process.pid)
            for pid in inside:
                try:
                    os.kill(pid, signal.SIGTERM)
                except ProcessLookupError:
                    pass
            if inside:
                return
            time.sleep(0.002)  # it has not entered its host yet

    def end(self):
        """Ends it if it still runs and returns the Result."""
        self.terminate()
        try:
            self._process.wait(2 * _KILL_AFTER_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        return self.wait()

    def abandon(self):
        """Kills the client when its host is about to end."""
        self._process.kill()
        self._process.wait()


def _name(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


class Rack(PlainRack):
    """A rack in a new folder. It ends when this process ends in any way."""

    def __init__(self, nodes=3, with_slurm=False):
        folder = tempfile.mkdtemp(prefix="voltpile-rack-")
        try:
            PlainRack.up(folder, nodes, with_slurm, owner=os.getpid())
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        super().__init__(folder)
        self.clients = []
        self._outputs = 0
        (self.layout.folder / "out").mkdir()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.down()

    def down(self):
        for client in self.clients:
            client.abandon()
        if self.layout.folder.exists():
            super().down()

    @property
    def shared(self):
        return self.layout.shared

    @property
    def local(self):
        return self.layout.local

    def disk(self, host):
        """Returns where this process sees the files in the host's `local`."""
        return self.layout.disk(host)

    def output_file(self, host, program, kind):
        self._outputs += 1
        return self.layout.folder / "out" / f"{self._outputs:04}-{host}-{pathlib.Path(program).name}.{kind}"

    # ---- programs ----------------------------------------------------------------------------------------------

    def start(self, host, command, env=None, timeout=60, cwd=None, stdin=""):
        """Starts a program on a host. cwd: the shared folder by default; env: added to a login environment. Ends it after
        `timeout` seconds."""
        return Client(self, host, command, env or {}, cwd or self.shared, timeout, stdin)

    def run(self, host, command, env=None, timeout=60, cwd=None, stdin="", expect=None):
        """Runs a program and returns its Result. expect: required exit code."""
        result = self.start(host, command, env, timeout, cwd, stdin).wait()
        if expect is not None and result.returncode != expect:
            raise AssertionError(f"expected exit {expect}: {result}")
        return result

    def bytes_sent(self, host):
        return self.byte_counts(host)[1]

    def bytes_received(self, host):
        return self.byte_counts(host)[0]

    def lossy(self, host, percent):
        """Skips the test if this machine cannot drop packets."""
        try:
            super().lossy(host, percent)
        except CannotRun as error:
            raise unittest.SkipTest(str(error)) from None

    # ---- Slurm -------------------------------------------------------------------------------------------------

    def head(self, *command, expect=0, timeout=20):
        """Returns the output of a command on the head: rack.head("squeue", "-t", "all")."""
        return self.run("head", command, timeout=timeout, expect=expect).stdout

    def sbatch(self, script, *options):
        """Submits a script (text, or the path of a file) and returns the job id."""
        if not isinstance(script, pathlib.Path):
            path = self.output_file("head", "sbatch", "sh")
            path.write_text(script)
            script = path
        return int(self.head("sbatch", "--parsable", *options, script).partition(";")[0])

    def job(self, job_id):
        """Returns Slurm's description of a job, key -> text: rack.job(7)["JobState"]."""
        line = self.head("scontrol", "-o", "show", "job", str(job_id)).strip().partition("\n")[0]
        return dict(re.findall(r"(?:^| )([A-Za-z:/_]+)=(.*?)(?= [A-Za-z:/_]+=|$)", line))

    def wait_job(self, job_id, states, timeout):
        """Waits until the job is in one of the states ("COMPLETED", "RUNNING PENDING"). Returns job()."""
        wanted = states.split()
        seen = []

        def arrived():
            job = self.job(job_id)
            if not seen or seen[-1] != job["JobState"]:
                seen.append(job["JobState"])
            return job if job["JobState"] in wanted else None
        try:
            return wait_for(arrived, timeout, f"job {job_id} {states}", interval=0.1)
        except AssertionError as error:
            raise AssertionError(f"{error}; its states were {' '.join(seen)}\n{self.job(job_id)}") from None

    # ---- between tests -----------------------------------------------------------------------------------------

    def restore(self):
        """Repairs the rack after a test: ends programs and jobs, boots crashed hosts, heals links."""
        for client in self.clients:
            client.terminate()
        for client in self.clients:
            client.end()
        self.clients.clear()
        for host, words in self.status().items():
            if words[0] == "down":
                self.boot(host)
            else:
                self._repair(host, words)
        if self.layout.slurm:
            self._empty_queue()

    def _repair(self, host, words):
        if words[0] in ("cut", "silent"):
            self.heal(host)
        if "no slurmctld" in words:
            self.slurmctld("start")
        if "no slurmd" in words:
            self.slurmd(host, "start")
        self.fast(host)
        self.lossy(host, 0)
        self.show(host)

    def _empty_queue(self):
        jobs = self.head("squeue", "-h", "-o", "%A").split()
        if jobs:
            self.head("scancel", *jobs)
        wait_for(self._idle_or_resumed, 60, "all nodes are idle", interval=1)

    def _idle_or_resumed(self):
        """Whether all nodes are idle. Resumes others: a health check that still runs may drain a node once more."""
        states = slurm.node_states(self)
        for node, state in states.items():
            if state.startswith(("down", "drain")):
                self.run("head", ["scontrol", "update", f"NodeName={node}", "State=RESUME"])
        return all(states.get(node) == "idle" for node in self.layout.nodes)

    def report(self, lines=15):
        """Returns the last lines of the logs, except those of sshd."""
        texts = []
        for path in sorted((self.layout.folder / "log").iterdir()):
            if path.suffix == ".sshd":
                continue
            tail = path.read_text(errors="replace").splitlines()[-lines:]
            texts += [f"=== {path.name}", *tail] if tail else []
        return "\n".join(texts)


class ClusterCase(unittest.TestCase):
    """A test class with its own rack, repaired after each test."""

    nodes = 3
    with_slurm = False
    rack: Rack

    @classmethod
    def setUpClass(cls):
        try:
            cls.rack = Rack(cls.nodes, cls.with_slurm)
        except CannotRun as error:
            raise unittest.SkipTest(str(error)) from None
        cls.addClassCleanup(cls.rack.down)

    def run(self, result=None):
        before = len(result.failures) + len(result.errors) if result else 0
        super().run(result)
        if result and len(result.failures) + len(result.errors) > before:
            try:
                print(f"\n{self.id()} failed; the rack's logs:\n{self.rack.report()}", file=sys.stderr, flush=True)
            except (OSError, AttributeError):
                pass  # the rack itself failed
        return result

    def tearDown(self):
        self.rack.restore()
