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


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


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

    def await_end_of(self, pids, timeout=30):
        deadline = time.monotonic() + timeout * PATIENCE
        while any(alive(pid) for pid in pids):
            self.assertLess(time.monotonic(), deadline, "processes are left")
            time.sleep(0.02)
