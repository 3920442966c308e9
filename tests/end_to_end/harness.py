"""Runs the program as a user does, in a temporary folder, and inspects its output."""

import importlib.util
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
VOLTPILE = os.environ["VOLTPILE"]  # the program under test; set by ctest
MPIRUN = os.environ.get("MPIRUN", "mpirun")
PATIENCE = float(os.environ.get("VOLTPILE_PATIENCE", 1))  # factor on every time limit, for slow builds
DONE, BAD_INPUT, CANNOT_RUN, FAILED, STOPPED = 0, 2, 3, 4, 5

# The machine's own GPUs and sensors do not show, and nothing can set them.
WITHOUT_GPUS = {"CUDA_VISIBLE_DEVICES": "", "VOLTPILE_NVML": "/dev/null", "VOLTPILE_SYS": "/nonexistent"}
NVML_STAND_IN = pathlib.Path(VOLTPILE).parent / "tests/stand_in/libnvidia-ml.so.1"

WITH_GPUS = dict(
    os.environ,
    OMPI_ALLOW_RUN_AS_ROOT="1",
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    OMPI_MCA_rmaps_base_oversubscribe="1",  # four ranks on two cores: Open MPI 4,
    PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe",  # Open MPI 5
    OMPI_MCA_mpi_yield_when_idle="1",  # a waiting rank lets other tests run
    OMPI_MCA_mtl="^ofi,psm,psm2",  # the search for Omni-Path adapters takes a quarter of a second
)
ENVIRONMENT = WITH_GPUS | WITHOUT_GPUS

TINY = SOURCE / "jobs/smoke/threebody_tiny.toml"

# A map of 120 x 100 pairs on one thread a rank: long enough to be interrupted.
MAP = """
app = "threebody"
[system]
G = 9.8
mass = [10.0, 20.0, 30.0]
position = [[0.0, 0.0, -11.0], [0.0, 0.0, 0.0], [10.0, 10.0, 12.0]]
velocity = [[-3.0, 0.0, 0.0], [0.0, 0.0, 0.0], [3.0, 0.0, 0.0]]
[[sweep]]
parameter = "position[0].x"
name = "x"
from = -20.0
to = 20.0
count = 120
[[sweep]]
parameter = "position[0].y"
name = "y"
from = -20.0
to = 20.0
count = 100
[integrate]
method = "euler"
dt = 0.001
steps = 20000
[output]
fields = ["steps_together", "energy_error"]
[run]
device = "cpu"
threads = 1
"""

SMALL = ("--set", "sweep.x.count=7", "--set", "sweep.y.count=5", "--set", "integrate.steps=100")  # 35 points at once
SLOW = ("--set", "run.range_points=20")  # many parts, so that there is time to look at the run


def stand_in(described):
    """Returns the variables with which a program finds the node that the file describes (tests/stand_in)."""
    return {"VOLTPILE_NVML": str(NVML_STAND_IN), "VOLTPILE_STAND_IN_NODE": str(described)}


class Case(unittest.TestCase):
    base_environment = ENVIRONMENT

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="voltpile-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.job = self.write("map.toml", MAP)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def command(self, *arguments, ranks=None, file_limit=None):
        launcher = [MPIRUN, "-np", str(ranks)] if ranks else []
        limit = ["prlimit", f"--fsize={file_limit}"] if file_limit else []
        return launcher + limit + [VOLTPILE, *map(str, arguments)]

    def start(self, *arguments, ranks=None, file_limit=None, environment={}, stdin=subprocess.DEVNULL, process_group=None):
        """Starts the program in the background. file_limit: the largest size of a file in bytes, to imitate a full disk."""
        return subprocess.Popen(
            self.command(*arguments, ranks=ranks, file_limit=file_limit),
            cwd=self.folder,
            env={**self.base_environment, **environment},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=process_group,
        )

    def finish(self, process, expect=DONE, timeout=300):
        out, err = process.communicate(timeout=timeout * PATIENCE)
        if expect is not None:
            self.assertEqual(process.returncode, expect, f"{process.args}\nstdout:\n{out}\nstderr:\n{err}")
        return out, err

    def voltpile(self, *arguments, ranks=None, expect=DONE, timeout=300, **options):
        return self.finish(self.start(*arguments, ranks=ranks, **options), expect, timeout)

    def wait_for_parts(self, result, count, timeout=60):
        folder = pathlib.Path(str(result) + ".parts")
        deadline = time.monotonic() + timeout * PATIENCE
        while time.monotonic() < deadline:
            if folder.is_dir() and len(list(folder.glob("part-*.h5"))) >= count:
                return
            time.sleep(0.01)
        self.fail(f"{folder} has not got {count} parts within {timeout} s")

    def stop_with_parts(self, result, count, *arguments):
        """Runs until `count` parts exist, then stops the run: independent of the machine's speed."""
        process = self.start(*arguments)
        self.wait_for_parts(result, count)
        process.send_signal(signal.SIGINT)
        return self.finish(process, expect=STOPPED)

    def small_result(self, name="a.h5"):
        self.voltpile("run", self.job, "--output", name, *SMALL)
        return self.folder / name

    def unfinished_result(self, name="stopped.h5"):
        self.stop_with_parts(self.folder / name, 3, "run", self.job, "--output", name, *SLOW)
        return self.folder / name

    def parts(self, result):
        return sorted(pathlib.Path(str(result) + ".parts").glob("part-*.h5"))

    def need_xarray(self):
        missing = [name for name in ("xarray", "h5netcdf") if not importlib.util.find_spec(name)]
        if missing:
            self.skipTest(f"{sys.executable} has no {' and no '.join(missing)} (make deps)")

    def open_dataset(self, name, **options):
        """Opens a result or netCDF file of the test's folder as users of xarray do."""
        self.need_xarray()
        import xarray

        return xarray.open_dataset(self.folder / name, engine="h5netcdf", **options)

    def fields(self, result):
        """Returns the bytes of every field, by name."""
        import h5py

        with h5py.File(self.folder / result, "r") as file:
            self.assertEqual(int(file.attrs["complete"]), 1)
            return {name: file[name][()].tobytes() for name in file if "units" in file[name].attrs}

    def assert_same_result(self, a, b):
        first, second = self.fields(a), self.fields(b)
        self.assertEqual(sorted(first), sorted(second))
        for name in first:
            self.assertEqual(first[name], second[name], f"{name} differs between {a} and {b}")
