#!/usr/bin/env python3
"""A driven, damped oscillator: x'' = -x - 2 d x' + cos(w t), integrated by RK4 until the start is forgotten.

Prints the amplitude as a line, and a summary as JSON. In the steady state the amplitude is
1 / sqrt((1 - w^2)^2 + (2 d w)^2). Standard library only.
"""

import argparse
import json
import math


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--damping", type=float, required=True)
    parser.add_argument("--frequency", type=float, required=True)
    parser.add_argument("--steps", type=int, default=200, help="per period")
    options = parser.parse_args()
    d, w = options.damping, options.frequency

    def slope(t, x, v):
        return v, -x - 2 * d * v + math.cos(w * t)

    period = 2 * math.pi / w
    h = period / options.steps
    settle = math.ceil(12 / d / period)  # periods until e^-12 of the start is left
    x = v = t = largest = 0.0
    for step in range((settle + 1) * options.steps):
        a, b = slope(t, x, v)
        c, e = slope(t + h / 2, x + h / 2 * a, v + h / 2 * b)
        f, g = slope(t + h / 2, x + h / 2 * c, v + h / 2 * e)
        k, m = slope(t + h, x + h * f, v + h * g)
        x += h / 6 * (a + 2 * c + 2 * f + k)
        v += h / 6 * (b + 2 * e + 2 * g + m)
        t = (step + 1) * h
        if step >= settle * options.steps:
            largest = max(largest, abs(x))
    print(f"amplitude: {largest:.9g} m")
    print(json.dumps({"periods": settle + 1, "final": {"energy": (v * v + x * x) / 2}}))


if __name__ == "__main__":
    main()
