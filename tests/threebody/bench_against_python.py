#!/usr/bin/env python3
"""Compares the accurate map on one CPU core with REBOUND's IAS15 and heyoka's batch mode (PyPI: rebound, heyoka, numpy).

Usage: bench_against_python.py VOLTPILE [--starts N] [--rounds N]

The starts are a coarse grid over those of jobs/threebody/accurate_map.toml, followed to T = 50 whatever the twin does. The
figure is CPU time per start: user and system time of this process around the integration, and of the child process for
voltpile, less that of a run with four starts. Voltpile also integrates the twin of every start; the others do not.
The programs take turns, so that other load on the machine hits them alike. Errors are distances of body 1 at the end from
heyoka in 80-bit arithmetic with a tolerance of 1e-19. Integrators are set up beforehand; compiling them is not measured.
"""

import argparse
import csv
import math
import os
import pathlib
import resource
import subprocess
import tempfile
import time

import heyoka
import numpy
import rebound

JOB = pathlib.Path(__file__).parents[2] / "jobs" / "threebody" / "accurate_map.toml"
G, MASS, END = 9.8, (10.0, 20.0, 30.0), 50.0


def starts(size):
    """x and y of body 1, x fastest, as the sweep has them."""
    return [(-20 + 40 * i / size, -20 + 40 * j / size) for j in range(size) for i in range(size)]


def bodies(x, y):
    return [[x, y, -11, -3, 0, 0], [0, 0, 0, 0, 0, 0], [10, 10, 12, 3, 0, 0]]


class Rebound:
    name = f"REBOUND {rebound.__version__}, IAS15, one system"

    def measure(self, grid):
        simulations = []
        for x, y in grid:
            simulation = rebound.Simulation()
            simulation.G = G
            simulation.integrator = "ias15"
            for m, body in zip(MASS, bodies(x, y)):
                simulation.add(m=m, x=body[0], y=body[1], z=body[2], vx=body[3], vy=body[4], vz=body[5])
            simulations.append(simulation)
        begin = time.process_time()
        for simulation in simulations:
            simulation.integrate(END)
        spent = time.process_time() - begin
        return spent, [s.particles[0].xyz for s in simulations]


class Heyoka:
    def __init__(self, tolerance):
        self.lanes = heyoka.recommended_simd_size()
        self.name = f"heyoka {heyoka.__version__}, batches of {self.lanes}, tolerance {tolerance:g}, one system"
        equations = heyoka.model.nbody(3, masses=list(MASS), Gconst=G)
        self.integrator = heyoka.taylor_adaptive_batch(equations, numpy.zeros((18, self.lanes)), tol=tolerance)

    def measure(self, grid):
        spent, ends = 0.0, []
        for first in range(0, len(grid), self.lanes):
            batch = grid[first:first + self.lanes]
            filled = batch + [batch[-1]] * (self.lanes - len(batch))
            state = numpy.array([numpy.ravel(bodies(x, y)) for x, y in filled]).T
            begin = time.process_time()
            self.integrator.set_time(0.0)
            self.integrator.state[:] = state
            self.integrator.propagate_until(END)
            spent += time.process_time() - begin
            ends += [tuple(self.integrator.state[:3, k]) for k in range(len(batch))]
        return spent, ends


class Voltpile:
    def __init__(self, program, size, tolerance):
        self.program, self.size, self.tolerance = program, size, tolerance
        self.name = f"voltpile, rkn8, tolerance {tolerance:g}, both systems"

    def run(self, size, folder):
        output = pathlib.Path(folder) / f"map{size}.h5"
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([self.program, "run", JOB, "--output", output, "--set", "run.device=cpu", "--set",
                        "run.threads=1", "--set", f"sweep.x.count={size}", "--set", f"sweep.y.count={size}", "--set",
                        "stop.separation=inf", "--set", f"integrate.tolerance={self.tolerance}", "--set",
                        'output.fields=["final_state"]'], check=True, capture_output=True, env=os.environ)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, output

    def measure(self, grid):
        with tempfile.TemporaryDirectory() as folder:
            idle, _ = self.run(2, folder)
            spent, output = self.run(self.size, folder)
            table = pathlib.Path(folder) / "map.csv"
            subprocess.run([self.program, "export", output, "--output", table], check=True, capture_output=True)
            with open(table) as lines:
                rows = list(csv.reader(line for line in lines if not line.startswith("#")))
        column = rows[0].index(next(name for name in rows[0] if name.startswith("final_state")))
        return spent - idle, [tuple(map(float, row[column:column + 3])) for row in rows[1:]]


def reference(grid):
    equations = heyoka.model.nbody(3, masses=[numpy.longdouble(m) for m in MASS], Gconst=numpy.longdouble("9.8"))
    integrator = heyoka.taylor_adaptive(equations, numpy.zeros(18, dtype=numpy.longdouble), fp_type=numpy.longdouble,
                                        tol=numpy.longdouble("1e-19"))
    ends = []
    for x, y in grid:
        integrator.time = numpy.longdouble(0)
        integrator.state[:] = numpy.ravel(bodies(x, y))
        integrator.propagate_until(numpy.longdouble(END))
        ends.append(tuple(map(float, integrator.state[:3])))
    return ends


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("voltpile")
    parser.add_argument("--size", type=int, default=20, help="starts along each axis for REBOUND and heyoka")
    parser.add_argument("--scale", type=int, default=5, help="voltpile computes this many times as many along each axis")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tolerance", type=float, default=1e-9)
    options = parser.parse_args()
    coarse = starts(options.size)
    fine_size = options.size * options.scale
    at = [(options.scale * j) * fine_size + options.scale * i for j in range(options.size) for i in range(options.size)]
    exact = reference(coarse)
    programs = [Voltpile(options.voltpile, fine_size, options.tolerance), Rebound(), Heyoka(1e-9), Heyoka(2.3e-16)]
    times = {program.name: [] for program in programs}
    for _ in range(options.rounds):
        for program in programs:
            fine = isinstance(program, Voltpile)
            spent, ends = program.measure(starts(fine_size) if fine else coarse)
            times[program.name].append(spent / len(ends))
            program.ends = [ends[k] for k in at] if fine else ends
    for program in programs:
        errors = sorted(math.dist(a, b) for a, b in zip(program.ends, exact))
        figures = " ".join(f"{1e6 * t:.1f}" for t in times[program.name])
        good = sum(error < 0.01 for error in errors) / len(errors)
        print(f"{program.name}: {figures} us of CPU time per start; body 1 off by less than 0.01 on {100 * good:.2f} % of "
              f"{len(errors)} starts, median error {errors[len(errors) // 2]:.1e}")


if __name__ == "__main__":
    main()
