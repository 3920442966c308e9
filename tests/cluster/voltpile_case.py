"""Shared by tests of the program on a rack: the job, command lines and comparison of results."""

import os
import pathlib

from harness import ClusterCase, wait_for

SOURCE = pathlib.Path(__file__).resolve().parents[2]
VOLTPILE = os.environ.get("VOLTPILE", str(SOURCE / "build/release/voltpile"))  # set by ctest

# A reduced version of the published map with one thread per rank: three nodes share two cores.
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
count = {x}
[[sweep]]
parameter = "position[0].y"
name = "y"
from = -20.0
to = 20.0
count = {y}
[integrate]
method = "euler"
dt = 0.001
steps = {steps}
[output]
fields = ["steps_together", "energy_error"]
[run]
device = "cpu"
threads = 1
range_points = {range_points}
"""

# Six ranks on two cores: do not bind ranks, and yield while waiting.
SHARED_CORES = {"OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_mpi_yield_when_idle": "1"}


def map_job(x=60, y=50, steps=4000, range_points=100):
    return MAP.format(x=x, y=y, steps=steps, range_points=range_points)


def fields(path):
    """Returns the bytes of each field of a complete result, by name."""
    import h5py

    with h5py.File(path, "r") as file:
        assert int(file.attrs["complete"]) == 1
        found = {name: file[name][()].tobytes() for name in file if "units" in file[name].attrs}
    assert "steps_together" in found
    return found


class VoltpileCase(ClusterCase):
    def write(self, name, text):
        path = self.rack.shared / name
        path.write_text(text)
        return path

    @classmethod
    def alone(cls, job, output):
        """Runs the job on one rank and returns its fields, the reference for all other ways."""
        cls.rack.run("node1", [VOLTPILE, "run", job, "--output", output], expect=0, timeout=120)
        return fields(cls.rack.shared / output)

    def mpirun(self, *arguments, host="node1", hosts="node1:2,node2:2,node3:2", **options):
        command = ["mpirun", "--host", hosts, VOLTPILE, *arguments]
        return self.rack.run(host, command, env=SHARED_CORES, **{"timeout": 120, "expect": 0, **options})

    def wait_for_parts(self, result, count, timeout=60):
        folder = pathlib.Path(str(result) + ".parts")
        return wait_for(lambda: len(list(folder.glob("part-*.h5"))) >= count, timeout, f"{count} parts in {folder}")
