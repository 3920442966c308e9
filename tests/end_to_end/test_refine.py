"""Refined sweeps: against the full sweep and the rule in numpy; resumed, looked at, and wrong tables."""

import bisect
import signal
import unittest

import h5py
import numpy

from harness import BAD_INPUT, MAP, SOURCE, Case

MANDELBROT = """app = "rootmap"
[map]
method = "mandelbrot"
[[sweep]]
parameter = "constant.x"
name = "c_x"
from = -2.25
to = 0.75
count = 101
[[sweep]]
parameter = "constant.y"
name = "c_y"
from = 1.5
to = -1.5
count = 67
[iterate]
max_iterations = 100
escape_radius = 100.0
[output]
fields = ["iterations", "smooth", "final_z"]
"""
PENDULUM = """app = "ode"
[equations]
dx = "v"
dv = "-sin(x) - 0.1*v"
[initial]
x = 0.0
v = 0.0
[[sweep]]
parameter = "initial.x"
name = "x0"
from = -3
to = 3
count = 40
[[sweep]]
parameter = "initial.v"
name = "v0"
from = -3
to = 3
count = 33
[integrate]
method = "rk4"
dt = 0.01
t_end = 5.0
"""
NBODY = """app = "nbody"
[system]
G = 1.0
mass = [1.0, 0.5, 0.0]
position = [[-0.33, 0.0, 0.0], [0.67, 0.0, 0.0], [0.0, 0.0, 0.0]]
velocity = [[0.0, -0.4, 0.0], [0.0, 0.8, 0.0], [0.0, 0.0, 0.0]]
[[sweep]]
parameter = "position[2].x"
name = "x"
from = -2.0
to = 2.0
count = 30
[[sweep]]
parameter = "position[2].y"
name = "y"
from = -2.0
to = 2.0
count = 21
[integrate]
method = "leapfrog"
dt = 0.01
steps = 100
[stop]
collision = 0.2
[output]
fields = ["status", "final_time"]
"""


def lines(count, step):
    return sorted(set(range(0, count, step)) | {count - 1})


def refined(values, levels, differ, margin=1):
    """The rule of docs/refine.md on the full picture: the level of each point, and the row and column it has its values from."""
    height, width = values.shape
    level = numpy.full((height, width), -1)
    source = numpy.zeros((height, width, 2), dtype=int)
    for k in range(levels + 1):
        xs, ys = lines(width, 2 ** (levels - k)), lines(height, 2 ** (levels - k))
        if k > 0:
            across, down = max(1, len(old_xs) - 1), max(1, len(old_ys) - 1)
            divide = numpy.zeros((down, across), dtype=bool)
            for b in range(down):
                for a in range(across):
                    corners = [values[tuple(source[y, x])] for y in old_ys[b:b + 2] for x in old_xs[a:a + 2]]
                    if differ(min(corners), max(corners)):
                        divide[max(0, b - margin):b + margin + 1, max(0, a - margin):a + margin + 1] = True

        for y in ys:
            for x in xs:
                if k > 0 and x in old_xs and y in old_ys:
                    continue
                chosen = k == 0
                if k > 0:
                    b, a = bisect.bisect_right(old_ys, y) - 1, bisect.bisect_right(old_xs, x) - 1
                    for row in ([b - 1, b] if y in old_ys else [b]):
                        for column in ([a - 1, a] if x in old_xs else [a]):
                            if 0 <= row < down and 0 <= column < across:
                                chosen = chosen or divide[row, column]
                if chosen:
                    level[y, x], source[y, x] = k, (y, x)
                else:
                    level[y, x], source[y, x] = level[old_ys[b], old_xs[a]], source[old_ys[b], old_xs[a]]
        old_xs, old_ys = xs, ys
    return level, source


def any_difference(least, most):
    return least != most


class Refine(Case):
    def run_job(self, text, name, table="", **options):
        self.voltpile("run", self.write("job.toml", text + table), "--output", name, "--fresh", **options)
        with h5py.File(self.folder / name) as file:
            got = {field: file[field][...] for field in file if isinstance(file[field], h5py.Dataset)}
            got["computed"] = int(file.attrs.get("computedPoints", -1))
        return got

    def check_picture(self, full, got, field, levels, differ, margin=1):
        """Compares one picture, whose arrays begin with the dimensions [height, width], with the rule."""
        level, source = refined(full[field], levels, differ, margin)
        numpy.testing.assert_array_equal(got["level"], level)
        height, width = level.shape
        for name, values in full.items():
            if isinstance(values, numpy.ndarray) and values.shape[:2] == (height, width):
                numpy.testing.assert_array_equal(got[name], values[source[..., 0], source[..., 1]], name)
        y, x = numpy.mgrid[:height, :width]
        return int(((source[..., 0] == y) & (source[..., 1] == x)).sum())

    def check_job(self, text, field, table="", levels=3, differ=any_difference, margin=1, **options):
        full = self.run_job(text, "full.h5")
        got = self.run_job(text, "refined.h5", f'[refine]\nfield = "{field}"\nlevels = {levels}\nmargin = {margin}\n' + table, **options)
        computed = self.check_picture(full, got, field, levels, differ, margin)
        self.assertEqual(got["computed"], computed)
        return computed / got["level"].size

    def test_classes_are_refined_where_they_differ(self):
        for levels, margin in ((1, 0), (3, 1), (10, 2)):
            self.check_job(MANDELBROT, "iterations", levels=levels, margin=margin, ranks=2)

    def test_numbers_are_refined_beyond_a_threshold(self):
        share = self.check_job(MANDELBROT, "smooth", "threshold = 0.5\n", differ=lambda a, b: b - a > 0.5, margin=0)
        self.assertLess(share, 0.8)
        self.check_job(MANDELBROT, "smooth", "threshold = 0.1\nrelative = true\n",
                       differ=lambda a, b: b - a > 0.1 * max(abs(a), abs(b)))

    def test_all_apps_refine(self):
        self.check_job(PENDULUM, "final_x", "threshold = 0.3\n", differ=lambda a, b: b - a > 0.3)
        self.assertLess(self.check_job(NBODY, "status"), 1)
        small = MAP.replace("count = 120", "count = 30").replace("count = 100", "count = 25").replace("20000", "2000")
        self.check_job(small, "steps_together", "threshold = 100\n", levels=2, differ=lambda a, b: b - a > 100)

    def test_lines_and_frames_are_refined(self):
        line = MANDELBROT.split("[[sweep]]\nparameter = \"constant.y\"")[0] + MANDELBROT[MANDELBROT.index("[iterate]"):]
        full = self.run_job(line, "full.h5")
        got = self.run_job(line, "refined.h5", '[refine]\nfield = "iterations"\n')
        columns = [{name: each[name][:, None] for name in ("iterations", "smooth", "final_z", "level") if name in each}
                   for each in (full, got)]
        self.check_picture(*columns, "iterations", 3, any_difference)
        movie = MANDELBROT + '[frames]\ncount = 3\n[[frames.change]]\nparameters = ["constant.x", "constant.y"]\nhalve_every = 1\n'
        full = self.run_job(movie, "full.h5")
        got = self.run_job(movie, "refined.h5", '[refine]\nfield = "iterations"\n')
        for frame in range(3):
            one = [{name: values[frame] for name, values in each.items() if name in ("iterations", "smooth", "final_z", "level")}
                   for each in (full, got)]
            self.check_picture(*one, "iterations", 3, any_difference)

    def test_a_smooth_picture_costs_a_share(self):
        # 640 x 360 points of one escape time but for the border of the set, which is thin.
        text = MANDELBROT.replace("count = 101", "count = 640").replace("count = 67", "count = 360")
        got = self.run_job(text, "refined.h5", '[refine]\nfield = "iterations"\nlevels = 4\n')
        full = self.run_job(text, "full.h5")
        self.assertLess(got["computed"], 0.45 * 640 * 360)
        different = (got["iterations"] != full["iterations"]).mean()
        self.assertLess(different, 0.002)
        y, x = numpy.mgrid[:360, :640]
        native = numpy.full(got["level"].shape, 4)
        for k in (3, 2, 1, 0):
            step = 2 ** (4 - k)
            native[((x % step == 0) | (x == 639)) & ((y % step == 0) | (y == 359))] = k
        computed = got["level"] == native
        self.assertEqual(computed.sum(), got["computed"])
        numpy.testing.assert_array_equal(got["smooth"][computed], full["smooth"][computed])

    def test_a_killed_job_resumes_to_the_same_file(self):
        table = '[refine]\nfield = "steps_together"\nlevels = 3\n'
        job = self.write("map.toml", MAP + table)
        self.voltpile("run", job, "--output", "whole.h5", ranks=2)
        for parts in (2, 20):
            process = self.start("run", job, "--output", "killed.h5", "--set", "run.range_points=100")
            self.wait_for_parts(self.folder / "killed.h5", parts)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            out, _ = self.voltpile("show", "killed.h5")
            self.assertIn("unfinished", out)
            self.voltpile("verify", "killed.h5")
        out, _ = self.voltpile("run", job, "--output", "killed.h5", "--set", "run.threads=0", ranks=2)
        self.assertIn("resuming", out)
        self.assert_same_result("whole.h5", "killed.h5")
        again, _ = self.voltpile("run", job, "--output", "killed.h5")
        self.assertIn("complete already", again)

    def test_commands_know_refined_results(self):
        job = self.write("job.toml", MANDELBROT + '[refine]\nfield = "iterations"\n')
        out, _ = self.voltpile("plan", job)
        least = 14 * 10  # the multiples of 8 below 101 and 67, and the last places
        self.assertRegex(out, rf"refine: between {least} points \(the coarsest grid, 2\.07 %.*and all 6,767")
        self.voltpile("run", job, "--output", "a.h5", "--check", "50")
        out, _ = self.voltpile("show", "a.h5")
        self.assertRegex(out, r"check: +50 points")
        with h5py.File(self.folder / "a.h5") as file:
            computed = int(file.attrs["computedPoints"])
        self.assertIn(f"refined by iterations: {computed:,} of 6,767 points computed", out)
        out, _ = self.voltpile("verify", "a.h5")
        self.assertIn(f"6,767 of 6,767 points intact; {computed:,} of them computed", out)
        self.voltpile("plot", "a.h5", "--field", "level")
        self.voltpile("export", "a.h5", "--csv", "--output", "a.csv")
        with self.open_dataset("a.h5") as data:
            self.assertEqual(data.iterations.dims, ("c_y", "c_x"))
            self.assertEqual(data.level.shape, (67, 101))

    def test_wrong_tables_are_refused(self):
        def refused(table, *settings, text=MANDELBROT):
            arguments = [word for setting in settings for word in ("--set", setting)]
            errors = {self.voltpile(command, self.write("job.toml", text + table), *arguments, expect=BAD_INPUT)[1]
                      for command in ("run", "plan")}
            self.assertEqual(len(errors), 1)
            return errors.pop()

        line = MANDELBROT.count("\n") + 1
        self.assertIn(f"job.toml:{line}: missing key refine.field", refused("[refine]\nlevels = 2\n"))
        self.assertIn(f'job.toml:{line + 1}: refine.field = "nothing": the job has no such field; its fields with one number at each '
                      "point: iterations, smooth", refused('[refine]\nfield = "nothing"\n'))
        self.assertIn("this field has several numbers at a point", refused('[refine]\nfield = "final_z"\n'))
        self.assertIn(f"job.toml:{line + 2}: refine.levels = 0", refused('[refine]\nfield = "smooth"\nlevels = 0\n'))
        self.assertIn(f"job.toml:{line + 2}: refine.threshold = -1", refused('[refine]\nfield = "smooth"\nthreshold = -1\n'))
        self.assertIn("refine.margin", refused('[refine]\nfield = "smooth"\nmargin = -1\n'))
        self.assertIn("--set refine.field=none: refine.field", refused("", "refine.field=none"))
        point = MANDELBROT.split("[[sweep]]")[0] + MANDELBROT[MANDELBROT.index("[iterate]"):]
        self.assertIn("[refine] needs a [[sweep]]", refused('[refine]\nfield = "smooth"\n', text=point))
        job = self.write("job.toml", MANDELBROT + '[refine]\nfield = "smooth"\n')
        _, err = self.voltpile("run", job, "--shard", "0/2", expect=BAD_INPUT)
        self.assertIn("--shard cannot divide a job with [refine]", err)
        (self.folder / "starts.csv").write_text("position[2].x\n0.5\n0.6\n")
        table = NBODY.split("[[sweep]]")[0] + '[table]\nfile = "starts.csv"\n' + NBODY[NBODY.index("[integrate]"):]
        self.assertIn("[refine] needs a [[sweep]]", refused('[refine]\nfield = "status"\n', text=table))
        echo = (SOURCE / "jobs/smoke/command_echo.toml").read_text()
        self.assertIn("unknown table [refine]", refused('[refine]\nfield = "status"\n', text=echo))
        self.assertFalse((self.folder / "results").exists())


if __name__ == "__main__":
    unittest.main()
