"""The scripts of docs/analysis.md, on a real result. Their numbers are compared with numpy's."""

import importlib.util
import struct
import subprocess
import sys
import unittest

import h5py
import numpy

from harness import SOURCE, Case


def needs(*modules):
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    return unittest.skipIf(missing, f"Python has no module {', '.join(missing)}")


class Analysis(Case):
    def example(self, name, *arguments):
        done = subprocess.run([sys.executable, "-B", SOURCE / "docs/examples" / name, *map(str, arguments)], cwd=self.folder,
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def values(self, field):
        with h5py.File(self.folder / "a.h5") as file:
            return file[field][...], file["x"][...]

    @needs("h5py")
    def test_statistics_are_those_of_numpy(self):
        self.small_result()
        out = self.example("statistics_h5py.py", "a.h5", "energy_error")
        values, _ = self.values("energy_error")
        words = out.splitlines()[1].split()
        found = dict(zip(words[::2], map(float, words[1::2])))
        self.assertEqual(found["finite"], values.size)
        self.assertAlmostEqual(found["mean"] / values.mean(), 1, places=9)  # 10 digits
        self.assertAlmostEqual(found["max"] / values.max(), 1, places=5)  # 6 digits

    @needs("xarray", "h5netcdf")
    def test_profile_is_that_of_numpy(self):
        self.small_result()
        out = self.example("profile_xarray.py", "a.h5", "steps_together")
        values, x = self.values("steps_together")
        rows = numpy.array([[float(word) for word in line.split()] for line in out.splitlines()[1:]])
        numpy.testing.assert_allclose(rows[:, 0], x, rtol=1e-9)
        numpy.testing.assert_allclose(rows[:, 1], values.mean(axis=0), rtol=1e-9)

    @needs("h5py", "matplotlib")
    def test_figure_is_a_picture(self):
        self.small_result()
        self.example("figure_matplotlib.py", "a.h5", "steps_together", "energy_error", "figure.png")
        head = (self.folder / "figure.png").read_bytes()[:24]
        self.assertEqual(head[:8], b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack(">II", head[16:])
        self.assertEqual((width, height), (3300, 1350))


if __name__ == "__main__":
    unittest.main()
