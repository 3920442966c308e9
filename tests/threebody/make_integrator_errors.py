#!/usr/bin/env python3
"""Computes the position errors that integrators_test.cpp expects on the figure-eight orbit.

Usage: make_integrator_errors.py

It integrates the orbit (A. Chenciner and R. Montgomery, Annals of Mathematics 152, 881, 2000) with the textbook form of
each method: velocities instead of momenta, square roots and divisions, no merged kicks. It shares nothing with the program.
The error is the norm of the difference between all nine coordinates at the end and at the start. The columns: steps a
period, error after one period with them and with twice as many, error after a hundred periods. The exact orbit of the
published start, which has 14 digits, returns only within about 1e-12. Needs Python only; takes half a minute.
"""

import math

PERIOD = 6.32591398292621
X = [[0.97000435669734, -0.24308753153583, 0.0], [-0.97000435669734, 0.24308753153583, 0.0], [0.0, 0.0, 0.0]]
V = [[0.46620368572052, 0.43236573046051, 0.0], [0.46620368572052, 0.43236573046051, 0.0],
     [-0.93240737144104, -0.86473146092102, 0.0]]


def acceleration(x):
    """Of each body, with G and all masses 1."""
    a = [[0.0] * 3 for _ in x]
    for i in range(3):
        for j in range(3):
            if i != j:
                d = [x[j][c] - x[i][c] for c in range(3)]
                r = math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
                for c in range(3):
                    a[i][c] += d[c] / (r * r * r)
    return a


def plus(x, factor, y):
    return [[p + factor * q for p, q in zip(u, w)] for u, w in zip(x, y)]


def euler(x, v, h):
    return plus(x, h, v), plus(v, h, acceleration(x))


def leapfrog(x, v, h):
    v = plus(v, h / 2, acceleration(x))
    x = plus(x, h, v)
    return x, plus(v, h / 2, acceleration(x))


def yoshida4(x, v, h):
    w1 = 1 / (2 - 2 ** (1 / 3))
    for w in (w1, 1 - 2 * w1, w1):
        x, v = leapfrog(x, v, w * h)
    return x, v


def srkn6(x, v, h):
    a = [0.0378593198406116, 0.102635633102435, -0.0258678882665587, 0.314241403071447, -0.130144459517415,
         0.106417700369543, -0.00879424312851058]
    b = [0.09171915262446165, 0.183983170005006, -0.05653436583288827, 0.004914688774712854, 0.143761127168358,
         0.328567693746804]
    a += [1 - 2 * sum(a)] + a[::-1]
    b += [0.5 - sum(b)]
    b += b[::-1]
    for drift, kick in zip(a, b):
        x = plus(x, drift * h, v)
        v = plus(v, kick * h, acceleration(x))
    return plus(x, a[-1] * h, v), v


def rk4(x, v, h):
    k1x, k1v = v, acceleration(x)
    k2x, k2v = plus(v, h / 2, k1v), acceleration(plus(x, h / 2, k1x))
    k3x, k3v = plus(v, h / 2, k2v), acceleration(plus(x, h / 2, k2x))
    k4x, k4v = plus(v, h, k3v), acceleration(plus(x, h, k3x))
    for factor, kx, kv in ((1, k1x, k1v), (2, k2x, k2v), (2, k3x, k3v), (1, k4x, k4v)):
        x, v = plus(x, factor * h / 6, kx), plus(v, factor * h / 6, kv)
    return x, v


def error(method, steps, periods=1):
    x, v = X, V
    for _ in range(steps * periods):
        x, v = method(x, v, PERIOD / steps)
    return math.sqrt(sum((p - q) ** 2 for a, b in zip(x, X) for p, q in zip(a, b)))


if __name__ == "__main__":
    for method, steps in ((euler, 1000), (leapfrog, 1000), (yoshida4, 1000), (srkn6, 50), (rk4, 1000)):
        print(f"{method.__name__:10} {steps:5} {error(method, steps):.4g} {error(method, 2 * steps):.4g} "
              f"{error(method, steps, 100):.4g}", flush=True)
