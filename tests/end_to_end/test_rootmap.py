"""Root maps, pixel by pixel against numpy: the same operations in the same order give the same bits."""

import re
import subprocess
import sys
import unittest
from decimal import Decimal, localcontext

import h5py
import numpy

from harness import BAD_INPUT, SOURCE, Case


def axis(start, stop, count):
    return start + (stop - start) * numpy.arange(count) / count


def plane(x0, x1, nx, y0, y1, ny):
    x, y = numpy.meshgrid(axis(x0, x1, nx), axis(y0, y1, ny))
    return x.ravel(), y.ravel()


def multiply(a, b):
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def horner(coefficients, z):
    """p and p', from the coefficient of the highest power down; real coefficients."""
    p = (numpy.full_like(z[0], coefficients[0]), numpy.zeros_like(z[0]))
    d = (numpy.zeros_like(z[0]), numpy.zeros_like(z[0]))
    for c in coefficients[1:]:
        d = multiply(d, z)
        d = (d[0] + p[0], d[1] + p[1])
        p = multiply(p, z)
        p = (p[0] + c, p[1])
    return p, d


def newton(coefficients, x, y, most, tolerance):
    """Iterations of each start, and its last point."""
    x, y = x.copy(), y.copy()
    iterations = numpy.full(x.shape, most, dtype=numpy.int32)
    at = numpy.arange(x.size)
    for n in range(1, most + 1):
        z = (x[at], y[at])
        p, d = horner(coefficients, z)
        with numpy.errstate(divide="ignore", invalid="ignore"):
            scale = 1.0 / (d[0] * d[0] + d[1] * d[1])
            move = ((p[0] * d[0] + p[1] * d[1]) * scale, (p[1] * d[0] - p[0] * d[1]) * scale)
        length = move[0] * move[0] + move[1] * move[1]
        finite = length <= 1e290
        x[at] = numpy.where(finite, z[0] - move[0], z[0])
        y[at] = numpy.where(finite, z[1] - move[1], z[1])
        ends = ~(length >= tolerance * tolerance) | ~finite
        iterations[at[ends]] = n
        at = at[~ends]
    return iterations, x, y


def escape(step, x, y, cx, cy, most, radius):
    x, y = numpy.broadcast_to(x, cx.shape).copy(), numpy.broadcast_to(y, cx.shape).copy()
    iterations = numpy.full(x.shape, most, dtype=numpy.int32)
    at = numpy.arange(x.size)
    for n in range(most):
        ends = ~(x[at] * x[at] + y[at] * y[at] <= radius * radius)
        iterations[at[ends]] = n
        at = at[~ends]
        x[at], y[at] = step(x[at], y[at], cx[at], cy[at])
    return iterations


def quadratic(x, y, cx, cy):
    return (x * x - y * y) + cx, (x + x) * y + cy


def burning_ship(x, y, cx, cy):
    return (x * x - y * y) + cx, abs((x + x) * y) + cy


def henon(x, y, cx, cy):
    return (1 - 0.2 * (x * x)) + y, -1.1 * x


class Rootmap(Case):
    def result(self, job, *settings, ranks=2):
        arguments = [word for setting in settings for word in ("--set", setting)]
        self.voltpile("run", job, "--output", "a.h5", "--fresh", *arguments, ranks=ranks)
        with h5py.File(self.folder / "a.h5") as file:
            return {name: file[name][...] for name in file if isinstance(file[name], h5py.Dataset)}

    def of(self, text, *settings):
        return self.result(self.write("job.toml", text), *settings)

    def test_newton_equals_numpy(self):
        got = self.result(SOURCE / "jobs/rootmap/newton_quintic.toml", "sweep.x.count=270", "sweep.y.count=150",
                          'output.fields=["iterations", "root", "final_z"]')
        x, y = plane(-1.8, 1.8, 270, 1.1, -1.1, 150)
        iterations, x, y = newton([1, 0, 0, 0, -1, -1], x, y, 45, 1e-7)
        numpy.testing.assert_array_equal(got["iterations"].ravel(), iterations)
        numpy.testing.assert_array_equal(got["final_z"].reshape(-1, 2), numpy.stack((x, y), axis=1))
        roots = numpy.roots([1, 0, 0, 0, -1, -1])
        roots = roots[numpy.argsort(numpy.angle(roots) % (2 * numpy.pi))]
        nearest = abs(roots[:, None] - (x + 1j * y)).argmin(axis=0) + 1
        decided = iterations < 45
        # The others fall into the cycle of Newton's method around 0 and -1.
        self.assertGreater(decided.sum(), 0.9 * decided.size)
        numpy.testing.assert_array_equal(got["root"].ravel()[decided], nearest[decided])

    def test_escapes_equal_numpy(self):
        zero = numpy.zeros(1)
        x, y = plane(-2.25, 0.75, 100, 1.5, -1.5, 80)
        got = self.result(SOURCE / "jobs/rootmap/mandelbrot.toml", "sweep.c_x.count=100", "sweep.c_y.count=80")
        numpy.testing.assert_array_equal(got["iterations"].ravel(), escape(quadratic, zero, zero, x, y, 1000, 2))
        x, y = plane(-1.6, 1.6, 100, 1.6, -1.6, 80)
        got = self.result(SOURCE / "jobs/rootmap/julia.toml", "sweep.x.count=100", "sweep.y.count=80")
        c = (numpy.full_like(x, -0.8), numpy.full_like(x, 0.156))
        numpy.testing.assert_array_equal(got["iterations"].ravel(), escape(quadratic, x, y, *c, 1000, 100))
        x, y = plane(-1.8, -1.7, 100, -0.09, 0.01, 80)
        got = self.result(SOURCE / "jobs/rootmap/burning_ship.toml", "sweep.c_x.count=100", "sweep.c_y.count=80")
        numpy.testing.assert_array_equal(got["iterations"].ravel(), escape(burning_ship, zero, zero, x, y, 1000, 100))
        x, y = plane(-3.0436, 3.9564, 100, 2.99798, -4.00202, 80)
        got = self.result(SOURCE / "jobs/rootmap/henon.toml", "sweep.x.count=100", "sweep.y.count=80")
        numpy.testing.assert_array_equal(got["iterations"].ravel(), escape(henon, x, y, x, y, 1000, 10))

    def test_fp32_equals_numpy(self):
        x, y = plane(-2.25, 0.75, 100, 1.5, -1.5, 80)
        got = self.result(SOURCE / "jobs/rootmap/mandelbrot.toml", "sweep.c_x.count=100", "sweep.c_y.count=80",
                          "iterate.precision=fp32")
        zero = numpy.zeros(1, dtype=numpy.float32)
        expected = escape(quadratic, zero, zero, x.astype(numpy.float32), y.astype(numpy.float32), 1000, numpy.float32(2))
        numpy.testing.assert_array_equal(got["iterations"].ravel(), expected)

    def test_double_double_agrees_with_decimal_numbers(self):
        # Pixels 2.5e-17 apart, near a border of the set: FP64 would see 36 of the 40 as one.
        got = self.of('app = "rootmap"\n[map]\nmethod = "mandelbrot"\nconstant = [-0.743643887037151, 0.0]\n'
                      '[[sweep]]\nparameter = "constant.y"\nname = "c_y"\nfrom = 0.131825904205330\n'
                      'to = 0.131825904205331\ncount = 40\nendpoint = false\n[iterate]\nmax_iterations = 3000\n'
                      'precision = "double-double"\nescape_radius = 4.0')
        with localcontext() as context:
            context.prec = 50
            start, stop = Decimal(0.131825904205330), Decimal(0.131825904205331)
            for i, n in enumerate(got["iterations"]):
                cx, cy = Decimal(-0.743643887037151), start + (stop - start) * i / 40
                x = y = Decimal(0)
                count = 0
                while count < 3000 and x * x + y * y <= 16:
                    x, y = x * x - y * y + cx, 2 * x * y + cy
                    count += 1
                self.assertEqual(n, count, i)

    def test_perturbation_agrees_with_decimal_numbers(self):
        got = self.result(SOURCE / "jobs/rootmap/mandelbrot_deep.toml", "sweep.c_x.count=12", "sweep.c_y.count=10")
        job = (SOURCE / "jobs/rootmap/mandelbrot_deep.toml").read_text()
        with localcontext() as context:
            context.prec = 100
            center = [Decimal(text) for text in re.search(r'center = \["(.*)",\s*"(.*)"\]', job).groups()]
            seen = set()
            compared = 0
            for row in range(0, 10, 2):
                for column in range(0, 12, 3):
                    cx, cy = center[0] + Decimal(got["c_x"][column]), center[1] + Decimal(got["c_y"][row])
                    x = y = Decimal(0)
                    count = 0
                    derivative = 0
                    while count < 20000 and x * x + y * y <= 10000:
                        derivative = 2 * complex(x, y) * derivative + 1
                        x, y = x * x - y * y + cx, 2 * x * y + cy
                        count += 1
                    # Where rounding the offset to FP64 moves the last point as far as it is from 0, nothing is known.
                    offset = abs(complex(got["c_x"][column], got["c_y"][row]))
                    if abs(derivative) * offset > 2**44 * abs(complex(x, y)):
                        continue
                    self.assertEqual(got["iterations"][row, column], count)
                    compared += 1
                    seen.add(count)
        self.assertGreaterEqual(compared, 18)  # of 20
        self.assertGreater(len(seen), 3)

    def test_a_thousand_deep_pixels_agree_with_mpmath(self):
        self.result(SOURCE / "jobs/rootmap/mandelbrot_deep.toml", "sweep.c_x.count=400", "sweep.c_y.count=400")
        check = SOURCE / "tests/rootmap/check_with_mpmath.py"
        done = subprocess.run([sys.executable, check, self.folder / "a.h5", "--pixels", "1000"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^1000 of 1000 pixels agree", done.stdout)

    def test_perturbation_equals_fp64_where_that_suffices(self):
        settings = ("sweep.c_x.count=80", "sweep.c_y.count=60", "iterate.max_iterations=200", "iterate.escape_radius=100.0",
                    'output.fields=["iterations", "distance"]')
        plain = self.result(SOURCE / "jobs/rootmap/mandelbrot.toml", *settings)
        perturbed = self.result(SOURCE / "jobs/rootmap/mandelbrot.toml", *settings, "iterate.precision=perturbation",
                                'map.center=["-0.1", "0.7"]', "sweep.c_x.from=-2.15", "sweep.c_x.to=0.85",
                                "sweep.c_y.from=0.8", "sweep.c_y.to=-2.2")
        same = plain["iterations"] == perturbed["iterations"]
        self.assertGreater(same.mean(), 0.99)  # rounding decides on the border
        close = numpy.isclose(plain["distance"], perturbed["distance"], rtol=1e-6)
        self.assertGreater(close.mean(), 0.99)

    def test_a_step_that_divides_by_zero_is_flagged(self):
        got = self.of('app = "rootmap"\n[map]\nmethod = "newton"\npolynomial = "z^3 - 1"\n'
                      '[[sweep]]\nparameter = "start.x"\nname = "x"\nfrom = 0\nto = 2\ncount = 3\nendpoint = true\n'
                      '[iterate]\nmax_iterations = 20\n[output]\nfields = ["quality", "root", "final_z", "iterations"]')
        self.assertEqual(list(got["quality"]), [3, 0, 0])  # zero_derivative, decided
        self.assertEqual(list(got["root"]), [0, 1, 1])
        self.assertTrue(numpy.isfinite(got["final_z"]).all())
        self.assertEqual(got["iterations"][0], 1)

    def test_methods_find_the_roots(self):
        for method in "newton", "halley", "schroeder", "secant":
            got = self.of(f'app = "rootmap"\n[map]\nmethod = "{method}"\npolynomial = "(z^2 - 2i) (z - 3)"\n'
                          '[[sweep]]\nparameter = "start.x"\nname = "x"\nfrom = -4\nto = 4\ncount = 40\n'
                          '[[sweep]]\nparameter = "start.y"\nname = "y"\nfrom = -4\nto = 4\ncount = 30\n'
                          '[iterate]\nmax_iterations = 60\ntolerance = 1e-9\n'
                          '[output]\nfields = ["quality", "root", "final_z", "smooth", "iterations"]')
            roots = numpy.array([3, 1 + 1j, -1 - 1j])
            decided = got["quality"] == 0
            self.assertGreater(decided.mean(), 0.95, method)
            z = got["final_z"][decided] @ [1, 1j]
            numpy.testing.assert_allclose(z, roots[got["root"][decided] - 1], atol=1e-8)
            below = got["iterations"][decided] - got["smooth"][decided]
            self.assertTrue(((below >= 0) & (below <= 1)).all(), method)

    def test_distances_bracket_the_true_one(self):
        # Left of -2 on the real axis the nearest point of the set is -2. Koebe's quarter theorem: the estimate is
        # between the distance and four times it.
        got = self.of('app = "rootmap"\n[map]\nmethod = "mandelbrot"\n[[sweep]]\nparameter = "constant.x"\nname = "c"\n'
                      'from = -2.5\nto = -2.01\ncount = 20\n[iterate]\nmax_iterations = 500\nescape_radius = 1e6\n'
                      '[output]\nfields = ["distance"]')
        true = -2 - got["c"]
        self.assertTrue((got["distance"] >= true).all() and (got["distance"] <= 4 * true).all())

    def test_cycles_repeat(self):
        got = self.result(SOURCE / "jobs/rootmap/clifford.toml", "sweep.a.count=30", "sweep.b.count=30")
        a, b = numpy.meshgrid(got["a"], got["b"])
        x, y = got["final_z"][..., 0], got["final_z"][..., 1]
        start = x, y
        found = 0
        for n in range(1, 13):
            x, y = (numpy.sin(a * y) + 1.0 * numpy.cos(a * x), numpy.sin(b * x) + 0.7 * numpy.cos(b * y))
            cycles = got["period"] == n
            found += cycles.sum()
            gap = numpy.hypot(x - start[0], y - start[1])[cycles]
            self.assertTrue((gap < 1e-7).all(), n)
        self.assertGreater(found, 300)

    def test_a_checked_map_agrees_with_its_reference(self):
        out, _ = self.voltpile("run", SOURCE / "jobs/rootmap/newton_quintic.toml", "--output", "a.h5", "--check", "200",
                               "--set", "sweep.x.count=60", "--set", "sweep.y.count=40", ranks=2)
        with h5py.File(self.folder / "a.h5") as file:
            self.assertIn("check", file)

    def test_bench_measures_the_cores(self):
        out, _ = self.voltpile("bench", "rootmap", "--cpu", "--width", "27", "--height", "15")
        self.assertIn("newton map of z^5 - z - 1, 27 x 15 points, at most 45 iterations, FP64\n", out)
        self.assertRegex(out, r"baseline, 1 thread +\S+ s +\S+ iterations/s +\S+ FP64 instructions/s\n")
        _, err = self.voltpile("bench", "rootmap", "--cpu", "--polynomial", "z^", expect=BAD_INPUT)
        self.assertIn("expected an exponent from 0 to 64, at character 3", err)


if __name__ == "__main__":
    unittest.main()
