"""Differential equations, point by point against numpy and closed forms, and wrong equations."""

import ctypes
import unittest

import h5py
import numpy

from harness import BAD_INPUT, CANNOT_RUN, SOURCE, Case

JOB = """app = "ode"
[parameters]
k = 4.0
[initial]
x = 1.0
v = 0.0
[equations]
dx = "v"
dv = "-k*x"
[integrate]
method = "rk4"
dt = 0.01
t_end = 1.0
"""


def fma():
    """a b + c rounded once, element by element, by the C library; rounded twice where the processor has no fused operation."""
    with open("/proc/cpuinfo") as cpuinfo:
        if " avx2 " not in cpuinfo.read() + " ":
            return lambda a, b, c: a * b + c
    function = ctypes.CDLL("libm.so.6").fma
    function.argtypes, function.restype = [ctypes.c_double] * 3, ctypes.c_double
    return numpy.vectorize(function, otypes=[float])


def lorenz(fma, s, rho):
    x, y, z = s
    return numpy.array([10.0 * (y - x), fma(x, rho - z, -y), fma(-(8 / 3), z, x * y)])


def lorenz_added(fma, k, s, rho):
    """k plus the rates at s. The rate of x is a product there that nothing else reads, so it is fused with the sum."""
    added = k + lorenz(fma, s, rho)
    added[0] = fma(10.0, s[1] - s[0], k[0])
    return added


def rk4(fma, f, added, s, h, steps):
    for _ in range(steps):
        k1 = f(s)
        k2 = f(fma(0.5 * h, k1, s))
        k3 = f(fma(0.5 * h, k2, s))
        s = fma(h / 6, added(k1, fma(h, k3, s)) + 2 * (k2 + k3), s)
    return s


class Ode(Case):
    def result(self, job, *settings, ranks=2):
        arguments = [word for setting in settings for word in ("--set", setting)]
        self.voltpile("run", job, "--output", "a.h5", "--fresh", *arguments, ranks=ranks)
        with h5py.File(self.folder / "a.h5") as file:
            return {name: file[name][...] for name in file if isinstance(file[name], h5py.Dataset)}

    def test_lorenz_equals_numpy(self):
        got = self.result(SOURCE / "jobs/ode/lorenz.toml", "sweep.x0.count=11", "sweep.y0.count=7", "integrate.t_end=2")
        x0, y0 = numpy.meshgrid(got["x0"], got["y0"])
        start = numpy.array([x0, y0, numpy.full_like(x0, 27.0)])
        fused = fma()
        x, y, z = rk4(fused, lambda s: lorenz(fused, s, 28.0), lambda k, s: lorenz_added(fused, k, s, 28.0), start, 0.01, 200)
        for name, expected in (("x_end", x), ("y_end", y), ("z_end", z)):
            numpy.testing.assert_array_equal(got[name], expected)
        numpy.testing.assert_array_equal(got["steps"], 200)
        numpy.testing.assert_array_equal(got["t_final"], 2.0)

    def test_parameters_are_swept_by_name(self):
        text = JOB + '[outputs]\nx_end = "x"\n[[sweep]]\nparameter = "k"\nfrom = 1.0\nto = 9.0\ncount = 9\nendpoint = true\n'
        got = self.result(self.write("job.toml", text))
        # RK4's error on x'' = -k x is about t h^4 k^2.5 / 120.
        numpy.testing.assert_allclose(got["x_end"], numpy.cos(numpy.sqrt(got["k"])), atol=3e-8)

    def test_outputs_keep_their_order(self):
        job = self.write("job.toml", JOB + '[outputs]\nzz = "x"\naa = "2*x"\nmm = "3*x"\n')
        self.voltpile("run", job, "--output", "a.h5", "--set", 'outputs.bb="4*x"')
        with h5py.File(self.folder / "a.h5") as file:
            self.assertEqual(list(file.attrs["fields"])[:4], ["zz", "aa", "mm", "bb"])
            self.assertEqual(file["aa"][()], 2 * file["zz"][()])

    def test_jacobi_constant_and_events_of_three_bodies(self):
        job = SOURCE / "jobs/ode/restricted_three_body.toml"
        got = self.result(job, "sweep.x0.count=24", "sweep.y0.count=18", "integrate.t_end=20")
        x, y = numpy.meshgrid(got["x0"], got["y0"])
        mu = 0.01215058560962404
        start = x**2 + y**2 + 2 * (1 - mu) / numpy.hypot(x + mu, y) + 2 * mu / numpy.hypot(x - 1 + mu, y)
        self.assertLessEqual(set(got["status"].ravel()), {0, 4, 5, 6})  # end, or an event
        self.assertGreater(len(set(got["status"].ravel())), 2)
        numpy.testing.assert_allclose(got["jacobi"], start, rtol=1e-6)

    def test_fired_events_are_labels(self):
        self.result(SOURCE / "jobs/smoke/ode_bounce.toml", "parameters.drag=0")
        with h5py.File(self.folder / "a.h5") as file:
            start = file["start"][...]
            numpy.testing.assert_allclose(file["impact"][...], numpy.minimum(start, 3 * 9.81 - start), rtol=1e-9)
            status = file["status"][...]
            back = 2 * start / 9.81
            numpy.testing.assert_array_equal(status, numpy.where(back < 3, 4, 0))
            numpy.testing.assert_allclose(file["t_final"][...], numpy.minimum(back, 3), rtol=1e-9)
        out, _ = self.voltpile("show", "a.h5")
        self.assertIn("ground", out)

    def test_cores_and_ranks_give_the_same_bits(self):
        job = SOURCE / "jobs/ode/driven_pendulum.toml"
        small = ("sweep.drive.count=13", "sweep.damping.count=7", "integrate.t_end=100", "integrate.lyapunov_from=10")
        one = self.result(job, *small, ranks=1)
        many = self.result(job, *small, "run.range_points=5", ranks=3)
        for name in one:
            numpy.testing.assert_array_equal(one[name], many[name])

    def refuse(self, text, says):
        _, err = self.voltpile("run", self.write("bad.toml", text), expect=BAD_INPUT)
        self.assertIn(says, err)
        self.assertEqual(err.count(says), 1, err)

    def test_refuses_wrong_equations_with_a_caret(self):
        self.refuse(JOB.replace("-k*x", "-k*(x + "), "bad.toml:9: equations.dv: expected an operand, found the end, at character 9\n"
                                                     "    -k*(x + \n            ^")
        self.refuse(JOB.replace("-k*x", "-q*x"), "bad.toml:9: equations.dv: unknown name q, at character 2\n    -q*x\n     ^")
        self.refuse(JOB.replace("-k*x", "-k*x/(2 - 2)"), "division by zero, at character 5")
        self.refuse(JOB.replace("-k*x", "-mod(x, 0)"), "bad.toml:9: equations.dv: division by zero, at character 2\n    -mod(x, 0)\n     ^")
        self.refuse(JOB.replace("-k*x", "sine(x)"), "unknown function sine; did you mean sin")
        self.refuse(JOB + '[define]\na = "b + 1"\nb = "2*a"\n', "a is defined by itself")
        deep = f'a = "{"(" * 60}b{")" * 60}"\nb = "{"(" * 60}1{")" * 60}"\n'
        self.refuse(JOB + f"[define]\n{deep}", "too deeply nested")
        chain = "".join(f'd{i} = "d{i + 1}"\n' for i in range(150))
        self.refuse(JOB + f'[define]\n{chain}d150 = "1"\n', "too many definitions within definitions")
        self.refuse(JOB.replace("v = 0.0\n", ""), "bad.toml:8: v has no initial value: write v = 0 in [initial]")
        self.refuse(JOB + '[stop]\nlate = "t"\n', "bad.toml:15: stop.late: expected a comparison")

    def test_needs_a_gpu_if_the_job_says_so(self):
        _, err = self.voltpile("run", self.write("gpu.toml", JOB + '[run]\ndevice = "gpu"\n'), expect=CANNOT_RUN)
        self.assertIn('has no GPUs; set run.device = "auto" or "cpu"', err)


if __name__ == "__main__":
    unittest.main()
