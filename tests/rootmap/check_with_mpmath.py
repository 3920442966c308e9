#!/usr/bin/env python3
"""Compares a deep picture of the Mandelbrot set with mpmath: iterates random pixels with 100 decimal digits and counts those
whose number of iterations is that of the result.

    voltpile run jobs/rootmap/mandelbrot_deep.toml --output deep.h5
    python3 tests/rootmap/check_with_mpmath.py deep.h5

Needs h5py, numpy and mpmath (python3-h5py and python3-mpmath of Debian; python3-gmpy2 makes it faster). Offsets from the center are
numbers in FP64, so the last bit of an offset moves the last point by |dz/dc| 2^-53 |offset|; the script says for each pixel that
differs how large that is beside the distance of the last point from the escape radius.
"""

import argparse
import multiprocessing
import tomllib

import h5py
import mpmath
import numpy

DIGITS = 100


def follow(pixel):
    """Returns the iterations of a pixel, and by how much of its distance from the escape radius rounding moves a last point."""
    center, offset, most, radius = pixel
    mpmath.mp.dps = DIGITS
    cx, cy = (mpmath.mpf(text) + mpmath.mpf(float(part)) for text, part in zip(center, offset))
    x = y = mpmath.mpf(0)
    limit, derivative, count, doubt = radius * radius, 0, 0, 0.0
    xx, yy = x * x, y * y
    shift = abs(complex(*offset)) * 2.0**-53
    while count < most and xx + yy <= limit:
        z = complex(x, y)
        derivative = 2 * z * derivative + 1
        x, y = xx - yy + cx, 2 * x * y + cy
        xx, yy = x * x, y * y
        count += 1
        doubt = max(doubt, abs(derivative) * shift / abs(abs(complex(x, y)) - radius))
    return count, doubt


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result")
    parser.add_argument("--pixels", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with h5py.File(args.result) as file:
        job = tomllib.loads(file.attrs["jobFile"])
        iterations, x, y = file["iterations"][...], file["c_x"][...], file["c_y"][...]
    chosen = numpy.random.default_rng(args.seed).choice(iterations.size, args.pixels, replace=False)
    rows, columns = numpy.divmod(chosen, len(x))
    center, most, radius = job["map"]["center"], job["iterate"]["max_iterations"], job["iterate"]["escape_radius"]
    pixels = [(center, (x[c], y[r]), most, radius) for r, c in zip(rows, columns)]
    with multiprocessing.Pool() as pool:
        found = pool.map(follow, pixels, chunksize=4)
    different = [(r, c, count, doubt) for r, c, (count, doubt) in zip(rows, columns, found) if iterations[r, c] != count]
    for r, c, count, doubt in different:
        print(f"row {r}, column {c}: {iterations[r, c]} iterations, by mpmath {count}; rounding of the offset moves a point by "
              f"{doubt:.2g} of its distance from the escape radius")
    counts = numpy.array([count for count, _ in found])
    print(f"{len(chosen) - len(different)} of {len(chosen)} pixels agree with mpmath {mpmath.__version__} at {DIGITS} digits; "
          f"iterations {counts.min()} to {counts.max()}, {len(set(counts))} different, {(counts == most).sum()} in the set; "
          f"pixels {abs(x[1] - x[0]):.3g} apart")


if __name__ == "__main__":
    main()
