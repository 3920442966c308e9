#!/usr/bin/env python3
"""Computes with REBOUND (PyPI: rebound) what lyapunov_test.cpp expects: MEGNO by variational equations.

Usage: make_path_references.py

H. Rein and S.-F. Liu, Astron. Astrophys. 537, A128, 2012; the integrator is IAS15 (H. Rein and D. S. Spiegel, Mon. Not. R.
Astron. Soc. 446, 1424, 2015). Nothing is shared with the program. Takes seconds.
"""

import math

import rebound


def simulation(mass, position, velocity):
    sim = rebound.Simulation()
    sim.integrator = "ias15"
    for m, x, v in zip(mass, position, velocity):
        sim.add(m=m, x=x[0], y=x[1], z=x[2], vx=v[0], vy=v[1], vz=v[2])
    sim.move_to_com()
    return sim


def megno(name, mass, position, velocity, times):
    sim = simulation(mass, position, velocity)
    # The default criterion for steps stops where a body is not accelerated, as the figure-eight's are when they cross.
    sim.integrator.adaptive_mode = "GLOBAL"
    sim.init_megno(seed=1)
    for time in times:
        sim.integrate(time)
        print(f"{name}: t = {time}: MEGNO {sim.megno():.4f}", flush=True)


def main():
    vx, vy = 0.93240737144104, 0.86473146092102
    eight = [[0.97000435669734, -0.24308753153583, 0], [-0.97000435669734, 0.24308753153583, 0], [0, 0, 0]]
    megno("figure-eight", [1] * 3, eight, [[vx / 2, vy / 2, 0], [vx / 2, vy / 2, 0], [-vx, -vy, 0]], (600, 2000))
    # A moon of 1/100 around a planet and a star: an ordinary hierarchy.
    megno("hierarchy", [1, 0.01, 0.001], [[0] * 3, [1, 0, 0], [4, 0, 0]],
          [[0] * 3, [0, math.sqrt(1.01), 0], [0, math.sqrt(1.011 / 4), 0]], (600, 2000))


if __name__ == "__main__":
    main()
