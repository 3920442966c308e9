"""Names, addresses and paths of a rack, all derived from its folder and its number of nodes."""

import dataclasses
import json
import os
import pathlib
import sys

PYTHON = [sys.executable or "/usr/bin/python3", "-B"]
HERE = pathlib.Path(__file__).resolve().parent
MAX_NODES = 8
GPUS_PER_NODE = 4
CPUS_PER_NODE = 4
MEMORY_MB_PER_NODE = 4000
GPU_DEVICES = "/run/gpu"  # on the node's own tmpfs: the rack's folder may be on a file system without device files


@dataclasses.dataclass(frozen=True)
class Layout:
    folder: pathlib.Path
    node_count: int
    slurm: bool

    @staticmethod
    def load(folder):
        folder = pathlib.Path(folder)
        fields = json.loads((folder / "rack.json").read_text())
        return Layout(folder, fields["nodes"], fields["slurm"])

    def save(self):
        (self.folder / "rack.json").write_text(json.dumps({"nodes": self.node_count, "slurm": self.slurm}))

    @property
    def nodes(self):
        return [f"node{i}" for i in range(1, self.node_count + 1)]

    @property
    def hosts(self):
        return ["head", *self.nodes]

    def address(self, host):
        return "10.77.0.254" if host == "head" else f"10.77.0.{host.removeprefix('node')}"

    def mac(self, host):
        """Returns a fixed address: peers keep the address of a node in their caches when it reboots."""
        return f"02:00:0a:4d:00:{int(self.address(host).rpartition('.')[2]):02x}"

    @property
    def shared(self):
        """The folder with the same files on every node, as on NFS."""
        return self.folder / "shared"

    @property
    def local(self):
        """The same path on every node, but each node's own disk; survives a crash of the node."""
        return self.folder / "local"

    def disk(self, host):
        """Where the machine sees the files of a host's `local`."""
        return self.own(host) / "local"

    def own(self, host):
        return self.folder / "nodes" / host

    def log(self, name):
        return self.folder / "log" / name

    def log_end(self, name, lines=5):
        """Returns the last lines of a log for messages; the log may be missing."""
        try:
            return "\n".join(self.log(name).read_text(errors="replace").splitlines()[-lines:]) or "its log is empty"
        except OSError:
            return "it has no log"

    def pid_file(self, host):
        return self.folder / "run" / f"{host}.pid"

    def crash_file(self, host):
        """A file whose modification time is the time of the last crash."""
        return self.folder / "run" / f"{host}.crashed"

    @property
    def slurm_conf(self):
        return self.folder / "etc" / "slurm.conf"

    @property
    def munge_key(self):
        return self.folder / "etc" / "munge.key"

    def make_folders(self):
        for name in ("etc", "log", "run", "shared", "local", "ssh"):
            (self.folder / name).mkdir()
        for host in self.hosts:
            self.disk(host).mkdir(parents=True)
        self.shared.chmod(0o1777)

    def rack_environment(self):
        """Returns the variables that a process on a node has in addition to a login environment."""
        environment = {
            "RACK": str(self.folder),
            "RACK_SHARED": str(self.shared),
            "RACK_LOCAL": str(self.local),
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "CUDA_VISIBLE_DEVICES": "",  # the machine's own GPUs do not show
            "VOLTPILE_NVML": "/dev/null",
            "VOLTPILE_SYS": "/nonexistent",
        }
        if self.slurm:
            environment["SLURM_CONF"] = str(self.slurm_conf)
        return environment

    def environment(self):
        """Returns the whole environment of a process. It inherits nothing from the caller, so that tests are reproducible."""
        environment = {
            "HOME": os.path.expanduser("~root"),
            "USER": "root",
            "LOGNAME": "root",
            "SHELL": "/bin/bash",
            "LANG": "C.UTF-8",
            "TERM": os.environ.get("TERM", "dumb"),
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        }
        return environment | self.rack_environment()
