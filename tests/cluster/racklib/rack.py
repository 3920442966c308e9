"""A running rack: operations on its hosts, network and Slurm."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess

from . import files, lifetime, network, slurm
from .errors import CannotRun, RackError
from .layout import HERE, MAX_NODES, PYTHON, Layout
from .processes import Newborn, Process

NAMESPACES = ["--net", "--uts", "--mount", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc",
              "--propagation", "private"]
PROGRAMS = {"unshare": "util-linux", "nsenter": "util-linux", "setsid": "util-linux", "setpriv": "util-linux",
            "mount": "mount", "ip": "iproute2", "tc": "iproute2", "ssh": "openssh-client",
            "ssh-keygen": "openssh-client", "sshd": "openssh-server", "timeout": "coreutils"}
SLURM_PROGRAMS = {"slurmctld": "slurmctld", "slurmd": "slurmd", "sbatch": "slurm-client", "munged": "munge"}
BOOT_TIMEOUT_S = 30


def default_folder():
    temporary = os.environ.get("TMPDIR", "/tmp")
    return pathlib.Path(os.environ.get("VOLTPILE_RACK", f"{temporary}/voltpile-rack.{os.getuid()}"))


def check_machine(needs_slurm):
    """Raises CannotRun if this machine cannot run a rack."""
    if os.geteuid() != 0:
        raise CannotRun("needs root to create network namespaces")
    os.environ["PATH"] += ":/usr/sbin:/sbin"  # su and sudo may keep a user's PATH without these
    for program, package in (PROGRAMS | (SLURM_PROGRAMS if needs_slurm else {})).items():
        if shutil.which(program) is None:
            raise CannotRun(f"{program} is not installed (Debian package {package})")
    trial = subprocess.run(["unshare", *NAMESPACES, "sh", "-c", "mount -t tmpfs trial /run && ip link add type bridge"],
                           capture_output=True, text=True, check=False)
    if trial.returncode != 0:
        raise CannotRun(f"namespaces are not permitted here ({trial.stderr.strip()})")


class Rack:
    """Handle to the rack in a folder. All methods raise RackError."""

    def __init__(self, folder):
        folder = pathlib.Path(folder).absolute()
        try:
            self.layout = Layout.load(folder)
        except (OSError, ValueError) as error:
            raise RackError(f"no rack in {folder} (rack up)") from error
        self.guardian = lifetime.guardian_of(folder)
        if not self.guardian or not self.guardian.alive():
            raise RackError(f"the rack in {folder} is dead (rack down removes what is left)")

    # ---- up and down -------------------------------------------------------------------------------------------

    @staticmethod
    def up(folder, nodes=3, with_slurm=False, owner=None):
        """Creates a rack in `folder`, which must be empty or absent. owner: the process whose end takes the rack down."""
        check_machine(with_slurm)
        if not 2 <= nodes <= MAX_NODES:
            raise RackError(f"a rack has 2 to {MAX_NODES} nodes, not {nodes}")
        folder = pathlib.Path(folder).absolute()
        lifetime.claim(folder)
        layout = Layout(folder, nodes, with_slurm)
        layout.save()  # first: it marks the folder as a rack's, so that leftovers can be removed
        layout.make_folders()
        line = Newborn()
        try:
            lifetime.start_guardian(layout, line, owner)
            files.write(layout)
            if with_slurm:
                slurm.write_files(layout)
            rack = Rack(folder)
            rack._boot(layout.hosts)
            if with_slurm:
                slurm.start_controller(rack)
                slurm.start_daemons(rack, layout.nodes)
                slurm.await_idle(rack, layout.nodes)
            line.send("up")
            return rack
        except BaseException:
            with contextlib.suppress(RackError):  # the guardian may have done this
                lifetime.take_down(folder)
            raise
        finally:
            line.close()

    def down(self):
        lifetime.take_down(self.layout.folder)

    # ---- processes on hosts ------------------------------------------------------------------------------------

    def process(self, host):
        """Returns the first process of a host that is up."""
        self._check_name(host)
        try:
            process = Process.load(self.layout.pid_file(host))
        except OSError:
            process = None
        if process is None or not process.alive():
            raise RackError(f"{host} is down (rack boot {host})")
        return process

    def is_up(self, host):
        try:
            return bool(self.process(host))
        except RackError:
            return False

    def enter(self, host, command, folder="/"):
        """Command line that runs `command` on a host; it ends with SIGTERM when the caller's end of it is killed."""
        return ["nsenter", "-t", str(self.process(host).pid), "-n", "-u", "-m", "-i", "-p", "--",
                "setpriv", "--pdeathsig", "TERM", "env", "-C", str(folder), *map(str, command)]

    def popen(self, host, command, **options):
        """Runs without a terminal and, by default, without output."""
        settings = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL,
                    "env": self.layout.environment(), "start_new_session": True}
        return subprocess.Popen(self.enter(host, command), **(settings | options))

    def check_output(self, host, command, timeout_s=20):
        with self.popen(host, ["timeout", "-k", "2", str(timeout_s), *command], stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT, text=True) as process:
            output = process.communicate()[0]
        if process.returncode != 0:
            raise RackError(f"{' '.join(map(str, command))} on {host}: {output.strip()} (exit {process.returncode})")
        return output

    # ---- power, network, folders -------------------------------------------------------------------------------

    def crash(self, host):
        """Cuts the power: ends every process of the host at once; its disk survives. Peers receive nothing, not even the
        end of connections."""
        first = self.process(host)
        network.unplug(self.guardian.pid, host)
        if not first.end(signal.SIGKILL, BOOT_TIMEOUT_S):
            raise RackError(f"{host} does not die")
        self.layout.crash_file(host).touch()

    def boot(self, host):
        """Boots a crashed host with all its services."""
        self._check_name(host)
        if self.is_up(host):
            raise RackError(f"{host} is up")
        self._boot([host])
        if self.layout.slurm and host == "head":
            slurm.start_controller(self)
        elif self.layout.slurm:
            if self.layout.crash_file(host).exists():
                slurm.await_next_second(self.layout.crash_file(host).stat().st_mtime)
            slurm.start_daemons(self, [host], rebooted=True)

    def cut(self, host):
        """Pulls the network cable."""
        self.process(host)
        network.cut(self.guardian.pid, host)

    def silence(self, host):
        """Partitions the host silently: the link stays up, but all packets are dropped."""
        self.process(host)
        network.silence(self.guardian.pid, host)

    def heal(self, host):
        """Undoes cut() and silence()."""
        self.process(host)
        network.heal(self.guardian.pid, host)

    def slow(self, host, rate):
        """Limits the cable in both directions. rate: in the syntax of tc, such as 200mbit."""
        network.slow(self.guardian.pid, host, self.process(host).pid, rate)

    def fast(self, host):
        """Undoes slow()."""
        network.fast(self.guardian.pid, host, self.process(host).pid)

    def lossy(self, host, percent):
        """Drops this share of the packets on the cable, at random, in each direction. 0 undoes it. Raises CannotRun without
        nft."""
        if percent > 0 and shutil.which("nft") is None:
            raise CannotRun("nft is not installed (Debian package nftables)")
        network.lossy(self.guardian.pid, host, self.process(host).pid, percent)

    def byte_counts(self, host):
        """Returns the bytes (received, sent) over the host's eth0 since it booted."""
        return network.byte_counts(self.process(host).pid)

    def hide(self, host, folder=None):
        """Hides the shared folder (or another one) on one host behind an empty one, as if it were not mounted."""
        folder = folder or self.layout.shared
        self.check_output(host, ["mount", "-n", "-t", "tmpfs", "-o", "mode=1777", "hidden", folder])

    def show(self, host):
        """Undoes all hide() on this host."""
        with open(f"/proc/{self.process(host).pid}/mounts", encoding="utf-8") as file:
            hidden = [line.split()[1] for line in file if line.startswith("hidden ")]
        for folder in reversed(hidden):
            self.check_output(host, ["umount", "-n", "-l", folder])

    # ---- Slurm -------------------------------------------------------------------------------------------------

    def slurmd(self, node, action):
        """Kills slurmd on a node (job steps continue) or starts it. action: kill, start."""
        self._check_slurm()
        if node == "head":
            raise RackError("head has no slurmd")
        if action == "kill":
            slurm.end_daemon(self, node, "slurmd")
        elif slurm.daemon_alive(self, node, "slurmd"):
            raise RackError(f"slurmd is running on {node}")
        else:
            slurm.start_daemons(self, [node])

    def slurmctld(self, action):
        """Controls slurmctld. action: kill, start, restart (an orderly restart with SIGTERM)."""
        self._check_slurm()
        if action == "kill":
            slurm.end_daemon(self, "head", "slurmctld")
            return
        if action == "restart":
            slurm.end_daemon(self, "head", "slurmctld", signal.SIGTERM)
        elif slurm.daemon_alive(self, "head", "slurmctld"):
            raise RackError("slurmctld is running")
        slurm.start_controller(self)

    def _check_slurm(self):
        if not self.layout.slurm:
            raise RackError("this rack has no Slurm (rack up --slurm)")

    # ---- reports -----------------------------------------------------------------------------------------------

    def status(self):
        """Returns host -> a list of words that describe its state."""
        ports = network.ports_of(self.guardian.pid)
        states = {}
        for host in self.layout.hosts:
            if not self.is_up(host):
                states[host] = ["down"]
                continue
            port = ports.get(f"p-{host}", {"up": False, "switched": False})
            words = ["up" if port["up"] and port["switched"] else "silent" if port["up"] else "cut"]
            if self.layout.slurm:
                name = "slurmctld" if host == "head" else "slurmd"
                words.append(name if slurm.daemon_alive(self, host, name) else f"no {name}")
            states[host] = words
        return states

    # ---- details -----------------------------------------------------------------------------------------------

    def _check_name(self, host):
        if host not in self.layout.hosts:
            raise RackError(f"no host {host} in this rack: {', '.join(self.layout.hosts)}")

    def _boot(self, hosts):
        lines = {host: self._start_init(host) for host in hosts}
        try:
            pids = {host: self._hear(host, line, "born") for host, line in lines.items()}
            for host, pid in pids.items():
                Process.of(pid).save(self.layout.pid_file(host))
            network.wire(self.guardian.pid, self.layout, pids)
            for line in lines.values():
                line.send("wired")
            for host, line in lines.items():
                self._hear(host, line, "ready")
        except ProcessLookupError as error:
            raise RackError(f"{' '.join(hosts)}: died while booting") from error
        finally:
            for line in lines.values():
                line.close()

    def _start_init(self, host):
        """Starts a node inside the rack's process namespace as a child of the guardian, so that it cannot outlive it."""
        line = Newborn()
        with open(self.layout.log(f"{host}.init"), "ab") as log:
            subprocess.run(
                ["nsenter", "-t", str(self.guardian.pid), "-p", "-n", "-m", "--", "setsid", "--fork",
                 "unshare", *NAMESPACES, "--", *PYTHON, str(HERE / "node_init.py"), str(self.layout.folder), host,
                 str(line.theirs.fileno())],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[line.theirs.fileno()], cwd="/", check=True)
        line.started()
        return line

    def _hear(self, host, line, expected):
        try:
            message, pid = line.receive(BOOT_TIMEOUT_S)
        except TimeoutError as error:
            raise RackError(f"{host} does not boot: no \"{expected}\" in {BOOT_TIMEOUT_S} s") from error
        if message != expected:
            raise RackError(f"{host} does not boot: {message or 'it died'}; {self.layout.log_end(f'{host}.init')}")
        return pid
