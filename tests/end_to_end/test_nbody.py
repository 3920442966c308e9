"""Jobs of n bodies: against numpy and the threebody app, tables of starts, and wrong tables."""

import unittest

import h5py
import numpy

from harness import BAD_INPUT, CANNOT_RUN, SOURCE, Case

FIGURE_EIGHT = """
[system]
G = 1.0
mass = [1.0, 1.0, 1.0]
position = [[0.97000435669734, -0.24308753153583, 0.0], [-0.97000435669734, 0.24308753153583, 0.0], [0.0, 0.0, 0.0]]
velocity = [[0.46620368572052, 0.43236573046051, 0.0], [0.46620368572052, 0.43236573046051, 0.0],
            [-0.93240737144104, -0.86473146092102, 0.0]]
"""
SWEEP = """
[[sweep]]
parameter = "position[2].x"
name = "x"
from = -0.05
to = 0.05
count = 9
[[sweep]]
parameter = "position[2].y"
name = "y"
from = -0.05
to = 0.05
count = 7
"""
INTEGRATE = '[integrate]\nmethod = "{}"\ndt = 0.01\nsteps = 600\n'
OUTPUT = '[output]\nfields = ["final_state", "closest_approach", "energy_error"]\n'
# Body 1 is so light that it alone deviates: the norms of both apps then differ by a constant factor.
LIGHT = """
[system]
G = 1.0
mass = [1e-12, 1.0, 0.5]
position = [[2.0, 0.0, 0.0], [-0.3333333333333333, 0.0, 0.0], [0.6666666666666667, 0.0, 0.0]]
velocity = [[0.0, 0.7, 0.1], [0.0, -0.408248290463863, 0.0], [0.0, 0.816496580927726, 0.0]]
"""
LIGHT_SWEEP = """
[[sweep]]
parameter = "position[0].x"
name = "x"
from = 1.4
to = 3.0
count = 24
"""
PAIR = """app = "nbody"
[system]
G = 1.0
mass = [1.0, 0.5]
position = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
velocity = [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
[table]
file = "starts.csv"
[integrate]
method = "leapfrog"
dt = 0.01
steps = 100
"""


def leapfrog(mass, x, v, h, steps):
    """Many starts at once: x and v have the shape [starts, bodies, 3]."""

    def accelerations(x):
        d = x[:, None, :, :] - x[:, :, None, :]
        r2 = (d**2).sum(axis=3)
        numpy.einsum("sii->si", r2)[...] = 1.0
        return (mass[:, None, :, None] * d * r2[..., None] ** -1.5).sum(axis=2)

    a = accelerations(x)
    for _ in range(steps):
        v = v + 0.5 * h * a
        x = x + h * v
        a = accelerations(x)
        v = v + 0.5 * h * a
    return x, v


class Nbody(Case):
    def result(self, job, *settings, ranks=2):
        arguments = [word for setting in settings for word in ("--set", setting)]
        self.voltpile("run", job, "--output", "a.h5", "--fresh", *arguments, ranks=ranks)
        with h5py.File(self.folder / "a.h5") as file:
            return {name: file[name][...] for name in file if isinstance(file[name], h5py.Dataset)}

    def test_agrees_with_the_threebody_app(self):
        three = 'app = "threebody"\n' + FIGURE_EIGHT + "twin_shift = [0.0, 0.0, 0.0]\n" + SWEEP
        many = 'app = "nbody"\n' + FIGURE_EIGHT + SWEEP
        # Both are of the same order and differ by rounding, or by what the tolerance leaves; within a long step the closest
        # approach is that of a polynomial.
        for method, tolerance in (("leapfrog", 1e-10), ("yoshida4", 1e-10), ("srkn6", 1e-10), ("rk4", 1e-10),
                                  ("rkn8", 1e-6), ("gbs10", 1e-6)):
            tail = INTEGRATE.format(method) + OUTPUT
            expected = self.result(self.write("three.toml", three + tail))
            got = self.result(self.write("many.toml", many + tail))
            numpy.testing.assert_allclose(got["final_state"], expected["final_state"], atol=tolerance, err_msg=method)
            numpy.testing.assert_allclose(got["closest_approach"], expected["closest_approach"], atol=10 * tolerance, err_msg=method)

    def both(self, shift, tail):
        three = 'app = "threebody"\n' + LIGHT + f"twin_shift = {shift}\n" + LIGHT_SWEEP + tail
        zero = [0.0, 0.0, 0.0]
        many = 'app = "nbody"\n' + LIGHT + f"twin_shift = {[shift, zero, zero]}\n" + LIGHT_SWEEP + tail
        return self.result(self.write("three.toml", three)), self.result(self.write("many.toml", many))

    def test_deviations_grow_as_in_the_threebody_app(self):
        tail = ('[integrate]\nmethod = "{}"\ndt = 0.1\nsteps = 600\ntolerance = 1e-13\n[stop]\nseparation = inf\n'
                '[output]\nfields = ["lyapunov_exponent", "megno"]\n')
        for method in ("rkn8", "gbs10"):
            three, many = self.both([1e-3, 2e-3, 0.0], tail.format(method))
            # The deviation of `threebody` is a twin at a small distance. The most chaotic orbits themselves differ.
            same = numpy.isclose(many["lyapunov_exponent"], three["lyapunov_exponent"], rtol=1e-4)
            self.assertGreaterEqual(sum(same), 18, same)
            numpy.testing.assert_allclose(many["megno"][same], three["megno"][same], rtol=0.01)
            self.assertGreater(many["megno"].max(), 2 * many["megno"].min())

    def test_twins_part_as_in_the_threebody_app(self):
        tail = ('[integrate]\nmethod = "{}"\ndt = 0.02\nsteps = 3000\n{}[stop]\nseparation = 0.5\n'
                '[output]\nfields = ["steps_together", "time_together"]\n')
        for method, tolerance in (("rkn8", "tolerance = 1e-12\n"), ("gbs10", "tolerance = 1e-12\n"), ("srkn6", "")):
            three, many = self.both([0.01, 0.02, 0.0], tail.format(method, tolerance))
            numpy.testing.assert_allclose(many["time_together"], three["time_together"], atol=1e-5, err_msg=method)
            numpy.testing.assert_allclose(many["steps_together"], three["steps_together"], atol=0 if method == "srkn6" else 1)
            self.assertGreater(sum(three["time_together"] < 60), 12)

    def test_companions_use_cores_and_need_a_shift(self):
        megno = 'app = "nbody"\n' + LIGHT + LIGHT_SWEEP + INTEGRATE.format("rkn8") + '[output]\nfields = ["megno"]\n'
        shift = "system.twin_shift=[[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]"
        job = self.write("megno.toml", megno)
        out, _ = self.voltpile("plan", job, "--cluster", "t181_x3", "--set", shift, "--set", "run.device=gpu")
        self.assertIn("cores of Xeon", out)
        self.assertNotIn("V100", out)
        line = megno.splitlines().index('fields = ["megno"]') + 1
        says = f"megno.toml:{line}: the growth of a deviation needs system.twin_shift with a vector for each body"
        _, err = self.voltpile("run", job, expect=BAD_INPUT, ranks=2)
        self.assertEqual(err.count(says), 1, err)

    def starts(self, count=11):
        random = numpy.random.default_rng(3)
        mass = random.uniform(0.1, 1.0, (count, 4))
        return mass, random.uniform(-2, 2, (count, 4, 3)), random.uniform(-0.5, 0.5, (count, 4, 3))

    def four(self, table):
        zeros = ", ".join(["[0.0, 0.0, 0.0]"] * 4)
        return self.write("four.toml", f'app = "nbody"\n[system]\nG = 1.0\nmass = [1.0, 1.0, 1.0, 1.0]\nposition = [{zeros}]\n'
                          f'velocity = [{zeros}]\n[table]\nfile = "{table}"\n' + INTEGRATE.format("leapfrog") + OUTPUT)

    def test_tables_in_csv_and_hdf5_give_the_same_bits(self):
        mass, x, v = self.starts()
        with h5py.File(self.folder / "starts.h5", "w") as file:
            file["mass"], file["position"], file["velocity"] = mass, x, v
            file["note"] = "texts are left out"
        names = [f"mass[{i}]" for i in range(4)]
        names += [f"{key}[{i}].{c}" for key in ("position", "velocity") for i in range(4) for c in "xyz"]
        rows = numpy.concatenate([mass, x.reshape(-1, 12), v.reshape(-1, 12)], axis=1)
        lines = ["# made by the test", ",".join(names)] + [",".join(repr(float(a)) for a in row) for row in rows]
        (self.folder / "starts.csv").write_text("\r\n".join(lines) + "\r\n\r\n")
        from_hdf5 = self.result(self.four("starts.h5"))
        from_csv = self.result(self.four("starts.csv"), ranks=1)
        self.assertEqual(from_hdf5["row"].tolist(), list(range(11)))
        for name in from_hdf5:
            numpy.testing.assert_array_equal(from_hdf5[name], from_csv[name])
        end_x, end_v = leapfrog(mass, x, v, 0.01, 600)
        numpy.testing.assert_allclose(from_csv["final_state"], numpy.concatenate([end_x, end_v], axis=2), atol=1e-8)

    def test_content_of_the_table_identifies_the_job(self):
        text = "position[1].x,system.mass[0]\n1.0,2.0\n1.5,3.0\n"
        job = self.write("pair.toml", PAIR)
        self.write("starts.csv", text)
        self.voltpile("run", job, "--output", "a.h5")
        out, _ = self.voltpile("run", job, "--output", "a.h5")
        self.assertIn("complete", out)
        self.write("starts.csv", text.replace("3.0", "3.5"))
        _, err = self.voltpile("run", job, "--output", "a.h5", expect=BAD_INPUT)
        self.assertIn("starts.csv", err)

    def refuse(self, table, says):
        self.write("starts.csv", table)
        _, err = self.voltpile("run", self.write("pair.toml", PAIR), expect=BAD_INPUT, ranks=2)
        self.assertIn(says, err)
        self.assertEqual(err.count(says), 1, err)

    def test_refuses_wrong_tables_with_file_and_line(self):
        self.refuse("position[1].x,mass[0]\n1,2\n\n# note\n1\n", "starts.csv:5: 1 value, but the table has 2 columns")
        self.refuse("position[1].x\n1,2\n", "starts.csv:2: 2 values, but the table has 1 column")
        self.refuse("position[1].x\n1\nnan\n", "starts.csv:3: system.position[1].x = nan: must be finite")
        self.refuse("position[1].x\n1e999\n", "starts.csv:2: column 1: \"1e999\" is not a number")
        self.refuse("position[1].x\n1.0m\n", "starts.csv:2: column 1: \"1.0m\" is not a number")
        self.refuse("position[1].x,mass[0]\n1,\n", "starts.csv:2: column 2: \"\" is not a number")
        self.refuse("mass[0]\n-1\n", "starts.csv:2: system.mass[0] = -1: must be at least 0")
        self.refuse("steps\n1.5\n", "starts.csv:2: integrate.steps = 1.5: expected an integer")
        self.refuse("positon[1].x\n1\n", "starts.csv:1: column \"positon[1].x\": unknown parameter; did you mean")
        self.refuse("position[2].x\n1\n", "index 2 is out of range 0 to 1")
        self.refuse("mass[0],system.mass[0]\n1,1\n", "starts.csv:1: two columns for system.mass[0]")
        self.refuse("", "starts.csv: the table has no columns")
        self.refuse("mass[0]\n", "starts.csv: the table has no rows")
        (self.folder / "starts.csv").unlink()
        _, err = self.voltpile("run", self.write("pair.toml", PAIR), expect=BAD_INPUT)
        self.assertIn("cannot open starts.csv: No such file or directory", err)

    def test_refuses_wrong_hdf5_tables(self):
        def refuse(says, **datasets):
            with h5py.File(self.folder / "starts.h5", "w") as file:
                for name, values in datasets.items():
                    file[name] = values
            _, err = self.voltpile("run", self.four("starts.h5"), expect=BAD_INPUT)
            self.assertIn(says, err)

        mass, x, v = self.starts()
        refuse("starts.h5: velocity has 10 rows, but position has 11", position=x, velocity=v[:10])
        refuse("starts.h5: position: expected", position=x[:, :3])
        refuse("starts.h5: charge: column \"charge\": unknown parameter", charge=mass[:, 0])
        refuse("starts.h5: the table has no columns")
        refuse("starts.h5: mass, row 2: system.mass[1] = nan", mass=numpy.where(numpy.arange(44).reshape(11, 4) == 9, numpy.nan, mass))
        self.write("starts.h5", "not HDF5")
        _, err = self.voltpile("run", self.four("starts.h5"), expect=BAD_INPUT)
        self.assertIn("starts.h5", err)

    def test_ranks_and_ranges_give_the_same_bits(self):
        job = SOURCE / "jobs/nbody/triple_scattering.toml"
        small = ("sweep.impact_parameter.count=13", "sweep.velocity.count=9")
        one = self.result(job, *small, ranks=1)
        many = self.result(job, *small, "run.range_points=5", ranks=3)
        for name in one:
            numpy.testing.assert_array_equal(one[name], many[name])

    def test_plans_gpus_and_their_tables(self):
        job = SOURCE / "jobs/nbody/clusters.toml"
        out, _ = self.voltpile("plan", job, "--cluster", "t181_x3", "--explain")
        self.assertIn("GPU 3 (Tesla V100", out)
        self.assertIn("24.0 kB of tables", out)  # 100 rows of 30 numbers of 8 bytes
        out, _ = self.voltpile("plan", job, "--cluster", "t181_x3", "--set", "run.device=cpu")
        self.assertIn("cores of Xeon", out)
        self.assertNotIn("V100", out)
        _, err = self.voltpile("run", job, "--set", "run.device=gpu", expect=CANNOT_RUN)
        self.assertIn('run.device = "gpu"', err)

    def test_check_measures_how_right_a_result_is(self):
        many = 'app = "nbody"\n' + FIGURE_EIGHT + SWEEP + INTEGRATE.format("rk4") + OUTPUT
        out, _ = self.voltpile("run", self.write("many.toml", many), "--output", "a.h5", "--check", "20", ranks=2)
        self.assertIn("rkn8 at 1e-14", out)

    def test_shipped_table_and_basins(self):
        got = self.result(SOURCE / "jobs/nbody/clusters.toml", "integrate.steps=2000")
        self.assertEqual(got["status"].shape, (100,))
        self.assertTrue(numpy.isfinite(got["final_time"]).all())
        got = self.result(SOURCE / "jobs/nbody/ring_basins.toml", "sweep.x.count=20", "sweep.y.count=20")
        # A quarter turn of the square of masses maps the picture onto itself.
        pair = {3: 0, 6: 1, 8: 2, 9: 3}
        x, y = got["x"], got["y"]
        hits = numpy.vectorize(lambda k: pair.get(k, -1))(got["closest_pair"])
        # Early falls: later ones depend on rounding. (x, y) is turned to (-y, x).
        inside = (abs(y)[:, None] < 2.4) & (abs(x)[None, :] < 2.4) & (got["final_time"] < 3) & (hits >= 0)
        self.assertGreater(inside.sum(), 50)
        for j, i in zip(*numpy.nonzero(inside)):
            self.assertEqual(hits[i, 20 - j], (hits[j, i] + 1) % 4, (x[i], y[j]))

    def test_shipped_stability_map_agrees_with_rebound(self):
        # MEGNO by REBOUND's variational equations, as in tests/nbody/make_deviation_references.py.
        for x, vy, megno in ((8.525, 2.075, 2.0196), (9.475, 1.915, 1.0994), (7.425, 1.725, 8.0611)):
            got = self.result(SOURCE / "jobs/nbody/saturn_megno.toml", "sweep.x.count=1", "sweep.vy.count=1", f"sweep.x.from={x}",
                              f"sweep.vy.from={vy}", ranks=1)
            self.assertAlmostEqual(got["megno"][0, 0], megno, delta=0.002)


if __name__ == "__main__":
    unittest.main()
