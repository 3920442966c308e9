"""Cases that run any program as a job, and look at its result."""

import pathlib
import time

import h5py
import numpy

from harness import PATIENCE, Case

HEAD = """app = "command"
[command]
argv = {argv}
stop_s = 1
{keys}
"""
AXIS = """
[[sweep]]
parameter = "x"
from = 0
to = {count}
count = {count}
"""


def job_text(script, keys="", count=4, rest=""):
    """A job that runs `script` in sh, once for each x = 0, 1, ..."""
    argv = f"""["sh", "-c", '''{script}''']"""
    return HEAD.format(argv=argv, keys=keys) + (AXIS.format(count=count) if count else "") + rest


# Starts descendants as a trainer does, one with a session of its own, and writes who is who to *.pid.
FAMILY = "echo $PPID > keeper.pid; echo $$ > main.pid; sleep 600 & echo $! > child.pid; " \
         "setsid sh -c 'sleep 600 & echo $! > grandchild.pid; wait' & echo $! > apart.pid; wait"
FAMILY_SIZE = 5


def family_job(keys=""):
    return HEAD.format(argv=f"""["sh", "-c", "{FAMILY}"]""", keys=keys)


def state_of(pid):
    """Returns the state ("R", "S", "T", "Z", ...) and the parent of a process; None if it has ended."""
    try:
        state, parent = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[:2]
        return state, int(parent)
    except OSError:
        return None


def alive(pid):
    state = state_of(pid)
    return state is not None and state[0] != "Z"


class ProgramCase(Case):
    def run_job(self, text, *arguments, **options):
        self.write("job.toml", text)
        return self.voltpile("run", "job.toml", "--output", "a.h5", *arguments, **options)

    def values(self, field):
        with h5py.File(self.folder / "a.h5") as file:
            return numpy.ravel(file[field][()]).tolist()

    def texts(self, field):
        with h5py.File(self.folder / "a.h5") as file:
            return [value.decode() if isinstance(value, bytes) else value for value in numpy.ravel(file[field].asstr()[()])]

    def await_files(self, pattern, count, timeout=60):
        deadline = time.monotonic() + timeout * PATIENCE
        while time.monotonic() < deadline:
            found = sorted(path for path in self.folder.glob(pattern) if path.read_text().strip())
            if len(found) >= count:
                return found
            time.sleep(0.02)
        self.fail(f"no {count} files {pattern}")

    def await_family(self):
        """Returns the processes of FAMILY by name, with the guard of the keeper."""
        pids = {path.stem: int(path.read_text()) for path in self.await_files("*.pid", FAMILY_SIZE)}
        return pids | {"guard": state_of(pids["keeper"])[1]}

    def await_end_of(self, pids, timeout=30):
        deadline = time.monotonic() + timeout * PATIENCE
        while any(alive(pid) for pid in pids):
            self.assertLess(time.monotonic(), deadline, "processes are left")
            time.sleep(0.02)
