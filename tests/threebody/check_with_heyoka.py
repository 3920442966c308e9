#!/usr/bin/env python3
"""Compares body 1 of a checked map with heyoka, an independent integrator (Taylor series; F. Biscani, D. Izzo, MNRAS 504,
2614, 2021): how far off its position at the end is, at the points of the check's sample.

    voltpile run jobs/threebody/accurate_map.toml --set stop.separation=inf --set 'output.fields=["final_state"]' \\
        --check 2000 --output end.h5
    python3 tests/threebody/check_with_heyoka.py end.h5

Needs h5py, numpy and heyoka from PyPI (6.0 or newer), the last of which the tests do not install. --quadruple N repeats the
N worst points and N others in numbers of 113 bits, about half a second each, to tell heyoka's own error.
"""

import argparse
import tomllib

import h5py
import heyoka
import numpy


def positions(starts, masses, G, time, real=float, tolerance=None):
    """Integrates each start, [body][x y z vx vy vz], and returns the position of body 1."""
    system = heyoka.model.nbody(3, masses=[real(m) for m in masses], Gconst=real(G))
    options = {} if real is float else {"fp_type": real, "tol": real(tolerance)}
    integrator = heyoka.taylor_adaptive(system, [real(0)] * 18, **options)
    ends = []
    for start in starts:
        integrator.time = real(0)
        integrator.state[:] = numpy.array([real(x) for x in start.reshape(18)])
        integrator.propagate_until(real(time))
        ends.append([float(x) for x in integrator.state[:3]])
    return numpy.array(ends)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result")
    parser.add_argument("--quadruple", type=int, default=0, metavar="N")
    args = parser.parse_args()
    with h5py.File(args.result) as file:
        job = tomllib.loads(file.attrs["jobFile"])
        sample = file["check/sample"][...]
        x, y = file["x"][...], file["y"][...]
        row, column = numpy.divmod(sample, len(x))
        ours = numpy.array([file["final_state"][r, c, 0, :3] for r, c in zip(row, column)])
        reference = file["check/final_state"][:, 0, :3]
    system, time = job["system"], job["integrate"]["dt"] * job["integrate"]["steps"]
    start = numpy.concatenate([numpy.array(system["position"]), numpy.array(system["velocity"])], axis=1)
    starts = numpy.repeat(start[None], len(sample), axis=0)
    starts[:, 0, 0], starts[:, 0, 1] = x[column], y[row]

    theirs = positions(starts, system["mass"], system["G"], time)
    for name, there in (("the map", ours), ("its reference", reference)):
        error = numpy.linalg.norm(there - theirs, axis=1)
        print(f"{name}: |error of body 1| < 0.01 on {(error < 0.01).sum()} of {len(error)} "
              f"({100 * (error < 0.01).mean():.2f} %), median {numpy.median(error):.2g}, "
              f"99th percentile {numpy.quantile(error, 0.99):.2g}, largest {error.max():.2g}")
    if args.quadruple > 0:
        order = numpy.argsort(numpy.linalg.norm(ours - theirs, axis=1))
        others = numpy.random.default_rng(1).permutation(order[:-args.quadruple])[:args.quadruple]
        for kind, points in (("worst", order[-args.quadruple:]), ("random", others)):
            exact = positions(starts[points], system["mass"], system["G"], time, heyoka.real128, "1e-22")
            for name, there in (("the map", ours), ("its reference", reference), ("heyoka in FP64", theirs)):
                error = numpy.linalg.norm(there[points] - exact, axis=1)
                print(f"{len(points)} {kind} points in 113 bits: {name} differs by {numpy.median(error):.2g} (median), "
                      f"{error.max():.2g} (largest)")


if __name__ == "__main__":
    main()
