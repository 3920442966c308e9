"""Names, addresses and paths of a rack: everything follows from its folder and its number of nodes."""

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
GPU_DEVICES = "/run/gpu"  # in the node's own memory file system: the rack's folder may lie where devices are refused


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
        """Fixed, so that a node that boots again is not looked for at the address of its former card."""
        return f"02:00:0a:4d:00:{int(self.address(host).rpartition('.')[2]):02x}"

    @property
    def shared(self):
        """The same files on every node, as on NFS."""
        return self.folder / "shared"

    @property
    def local(self):
        """The same path on every node, but each node's own disk; outlives a crash of the node."""
        return self.folder / "local"

    def disk(self, host):
        """Where the machine that carries the rack sees the files of `local` of that host."""
        return self.own(host) / "local"

    def own(self, host):
        return self.folder / "nodes" / host

    def log(self, name):
        return self.folder / "log" / name

    def log_end(self, name, lines=5):
        """For messages: the folder with the log may be about to go."""
        try:
            return "\n".join(self.log(name).read_text(errors="replace").splitlines()[-lines:]) or "its log is empty"
        except OSError:
            return "it has no log"

    def pid_file(self, host):
        return self.folder / "run" / f"{host}.pid"

    def crash_file(self, host):
        """Its time is that of the last crash."""
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
        """What a process on a node gets besides the ordinary environment of a login."""
        environment = {
            "RACK": str(self.folder),
            "RACK_SHARED": str(self.shared),
            "RACK_LOCAL": str(self.local),
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        }
        if self.slurm:
            environment["SLURM_CONF"] = str(self.slurm_conf)
        return environment

    def environment(self):
        """The whole environment of a login. Nothing of the caller's comes along: tests are the same everywhere."""
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
