"""Movies: what each frame shows, against numpy and against jobs of one frame; resumed and looked at."""

import re
import unittest

import h5py
import numpy

from harness import BAD_INPUT, MAP, SOURCE, Case
from test_rootmap import escape, quadratic

ROOTMAP = SOURCE / "jobs/smoke/rootmap_movie.toml"
THREEBODY = SOURCE / "jobs/smoke/threebody_movie.toml"

# 6 frames of MAP, of which the picture halves every 2.
MOVIE = MAP.replace("count = 120", "count = 40").replace("count = 100", "count = 30") + """
[frames]
count = 6
[[frames.change]]
parameters = ["position[0].x", "position[0].y"]
to = [5.3, -0.45]
halve_every = 2
"""


def read(path):
    with h5py.File(path) as file:
        return {name: file[name][...] for name in file if isinstance(file[name], h5py.Dataset)}


class Movies(Case):
    def run_job(self, job, name, *settings, **options):
        arguments = [word for setting in settings for word in ("--set", setting)]
        self.voltpile("run", job, "--output", name, *arguments, **options)
        return self.folder / name

    def test_a_zoom_equals_numpy(self):
        got = read(self.run_job(ROOTMAP, "a.h5", ranks=2))
        self.assertEqual(got["iterations"].shape, (6, 10, 12))
        numpy.testing.assert_array_equal(got["frame"], range(6))
        k = numpy.arange(6)
        for name, first, last, to, count in (("c_x", -2.25, 0.75, -0.75, 12), ("c_y", 1.5, -1.5, 0.1, 10)):
            scale = (0.01 / 3) ** (k / 5)
            middle = to + ((first + last) / 2 - to) * (scale - scale[5]) / (1 - scale[5])
            half = (last - first) / 2 * scale
            numpy.testing.assert_allclose(got[f"{name}_from"], middle - half, rtol=1e-14, atol=1e-16)
            numpy.testing.assert_allclose(got[f"{name}_to"], middle + half, rtol=1e-14, atol=1e-16)
            numpy.testing.assert_array_equal(got[name], numpy.arange(count) / count)
        zero = numpy.zeros(1)
        for frame in range(6):
            ends = [(got[f"{name}_from"][frame], got[f"{name}_to"][frame]) for name in ("c_x", "c_y")]
            x = ends[0][0] + (ends[0][1] - ends[0][0]) * numpy.arange(12) / 12
            y = ends[1][0] + (ends[1][1] - ends[1][0]) * numpy.arange(10) / 10
            x, y = numpy.meshgrid(x, y)
            expected = escape(quadratic, zero, zero, x.ravel(), y.ravel(), 300, 2)
            numpy.testing.assert_array_equal(got["iterations"][frame].ravel(), expected)

    def test_a_frame_is_the_job_of_that_frame(self):
        got = read(self.run_job(THREEBODY, "a.h5"))
        numpy.testing.assert_array_equal(got["steps"], [500, 600, 700, 800, 900])
        numpy.testing.assert_allclose(got["twin_shift_x"], 0.001 * 0.5 ** (numpy.arange(5) / 30), rtol=1e-15)
        for k in (0, 3):
            one = self.run_job(THREEBODY, f"{k}.h5", "frames.count=0", "frames.change=[]",
                               *(f"sweep.{axis}.{end}={got[f'{axis}_{end}'][k]!r}" for axis in "xy" for end in ("from", "to")),
                               f"system.twin_shift=[{', '.join(repr(float(got[f'twin_shift_{c}'][k])) for c in 'xyz')}]",
                               f"integrate.steps={int(got['steps'][k])}")
            numpy.testing.assert_array_equal(read(one)["steps_together"], got["steps_together"][k])

    def test_a_movie_is_resumed(self):
        job = self.write("movie.toml", MOVIE)
        self.run_job(job, "whole.h5", "run.threads=0")
        process = self.start("run", job, "--output", "killed.h5", "--set", "run.range_points=50")
        self.wait_for_parts(self.folder / "killed.h5", 3)
        process.kill()
        process.communicate()
        out, _ = self.voltpile("show", "killed.h5")
        self.assertIn("unfinished", out)
        self.run_job(job, "killed.h5", "run.threads=0")
        self.assert_same_result("whole.h5", "killed.h5")

    def test_commands_know_the_frames(self):
        self.run_job(THREEBODY, "a.h5")
        got = read(self.folder / "a.h5")
        out, _ = self.voltpile("show", "a.h5")
        self.assertRegex(out, r"frame +5 +0 +4")
        self.assertRegex(out, r"steps +500 +900")
        self.voltpile("verify", "a.h5")
        self.run_job(THREEBODY, "again.h5", ranks=2)
        self.voltpile("compare", "a.h5", "again.h5")
        self.run_job(THREEBODY, "other.h5", "frames.change[0].halve_every=20")
        _, err = self.voltpile("compare", "a.h5", "other.h5", expect=BAD_INPUT)
        self.assertIn("different points", err)
        self.voltpile("plot", "a.h5", "--at", "frame=3")
        out, _ = self.voltpile("plot", "a.h5", "--movie", "frames")
        self.assertEqual(out, "frames: 5 pictures of 5\n")
        out, _ = self.voltpile("export", "a.h5", "--csv", "--output", "a.csv")
        rows = numpy.genfromtxt(self.folder / "a.csv", delimiter=",", names=True)
        at = 3 * 80 + 2 * 10 + 7  # frame 3, row 2, column 7
        self.assertEqual(rows["frame"][at], 3)
        self.assertEqual(rows["x"][at], got["x_from"][3] + (got["x_to"][3] - got["x_from"][3]) * 7 / 10)
        self.assertEqual(rows["steps_together"][at], got["steps_together"][3, 2, 7])

    def test_xarray_has_the_coordinates(self):
        self.run_job(THREEBODY, "a.h5")
        self.voltpile("export", "a.h5", "--netcdf", "--output", "a.nc")
        for name in ("a.h5", "a.nc"):
            with self.open_dataset(name) as data:
                self.assertEqual(data.steps_together.dims, ("frame", "y", "x"))
                for coordinate in ("x_from", "x_to", "y_from", "y_to", "twin_shift_x", "steps"):
                    self.assertIn(coordinate, data.steps_together.coords)
                    self.assertEqual(data[coordinate].dims, ("frame",))
                x = data.x_from + (data.x_to - data.x_from) * data.x
                self.assertEqual(x.dims, ("frame", "x"))
                self.assertAlmostEqual(float(x[0, 3]), -14.69969 + 40 * 3 / 10, places=12)

    def test_frames_that_shrink_to_nothing_are_refused(self):
        # Frame k has the width 2^(-2 - 20 k) around 0.375, where doubles are 2^-54 apart: 2^-62 in frame 3.
        text = ROOTMAP.read_text().replace("to = [-0.75, 0.1]\nwidth = [0.01, 0.01]", "halve_every = 0.05")
        text = text.replace("from = -2.25\nto = 0.75", "from = 0.25\nto = 0.5")
        job = self.write("shrinks.toml", text)
        line = text.splitlines().index('parameters = ["constant.x", "constant.y"]') + 1
        for command in ("plan", "run"):
            _, err = self.voltpile(command, job, expect=BAD_INPUT)
            self.assertRegex(err, rf"shrinks.toml:{line}: map.constant.x in frame 3: the range shrinks to nothing, at 0.375:")
        self.assertEqual(err.count("shrinks to nothing"), 1)
        self.assertFalse((self.folder / "results").exists())

    def test_plans_agree_with_what_ten_frames_extrapolate_to(self):
        # The first 60 frames of the published movie, and ten spread evenly over the same zoom.
        movie = (SOURCE / "jobs/threebody/movie.toml", "--set", "frames.change[1].to=[110000]")
        out, _ = self.voltpile("plan", *movie, "--set", "frames.count=60", "--set", "sweep.x.count=100", "--set",
                               "sweep.y.count=100")
        planned = float(re.search(r"work +about (\S+) pair-steps", out)[1]) / (60 * 100 * 100)
        self.voltpile("run", *movie, "--output", "ten.h5", "--set", "frames.count=10", "--set", "frames.endpoint=true", "--set",
                      "frames.change[0].halve_every=4.5", "--set", "sweep.x.count=12", "--set", "sweep.y.count=12", ranks=2)
        done = read(self.folder / "ten.h5")["steps_together"].mean()
        self.assertAlmostEqual(planned / done, 1, delta=0.15)

    def test_plans_warn_from_the_first_bad_frame_on(self):
        # Half as wide in each frame, 100 points: neighbors are closer than 16 * 2.2e-16 from frame 44 on.
        zoom = ("--set", "frames.count=52", "--set", "frames.change[0].to=[]", "--set", "frames.change[0].width=[]",
                "--set", "frames.change[0].halve_every=1", "--set", "sweep.c_x.count=100", "--set", "sweep.c_y.count=100",
                "--set", "iterate.max_iterations=20000")
        out, err = self.voltpile("plan", ROOTMAP, *zoom)
        first = next(k for k in range(52) if 3 / 100 / 2**k < 16 * 2**-52)
        self.assertRegex(out + err, rf"frames {first} to 51: neighboring points.*use iterate.precision = \"perturbation\"")
        # Around -0.75 + 0.1i a point escapes after about pi / 0.1 iterations, and around (-0.75, 0) never.
        out, err = self.voltpile("plan", ROOTMAP, "--set", "frames.count=30", "--set", "frames.change[0].halve_every=1",
                                 "--set", "frames.change[0].width=[]", "--set", "frames.change[0].to=[-0.2, 0.0]")
        self.assertRegex(out + err, r"frames \d+ to 29: no point of a sample ends within iterate.max_iterations = 300")
        out, err = self.voltpile("plan", ROOTMAP, "--set", "iterate.max_iterations=2000000000")
        self.assertIn("whether points of the last frames end within iterate.max_iterations = 2000000000 was not tried", out + err)


if __name__ == "__main__":
    unittest.main()
