#!/usr/bin/env python3
"""Computes with REBOUND and heyoka (PyPI: rebound, heyoka) what path_fields_test.cpp and lyapunov_test.cpp expect.

Usage: make_path_references.py

MEGNO by the variational equations of REBOUND (H. Rein and S.-F. Liu, Astron. Astrophys. 537, A128, 2012) with IAS15; escapes
by heyoka (F. Biscani and D. Izzo, Mon. Not. R. Astron. Soc. 504, 2614, 2021) at the precision of doubles, looked for every
0.02. Nothing is shared with the program. Takes a minute.
"""

import math

import heyoka
import numpy
import rebound


def simulation(mass, position, velocity):
    sim = rebound.Simulation()
    sim.integrator = "ias15"
    for m, x, v in zip(mass, position, velocity):
        sim.add(m=m, x=x[0], y=x[1], z=x[2], vx=v[0], vy=v[1], vz=v[2])
    sim.move_to_com()
    return sim


def escaped(x, v, reach):
    """The body, 1 to 3, of which the condition of escape.h holds; 0: of none. G and all masses are 1."""
    for k in range(3):
        i, j = [n for n in range(3) if n != k]
        if math.dist(x[i], x[j]) > reach:
            continue
        place = [a - (b + c) / 2 for a, b, c in zip(x[k], x[i], x[j])]
        velocity = [a - (b + c) / 2 for a, b, c in zip(v[k], v[i], v[j])]
        rho = math.hypot(*place)
        rate = sum(a * b for a, b in zip(place, velocity)) / rho
        if rho > 2 * reach and rate > 0 and rate * rate / 2 >= 3 / (rho - reach):
            return k + 1
    return 0


def agekyan_anosova(cells, end, every):
    """The starts of a grid within the map of Agekyan and Anosova: time and body of their escapes."""
    integrator = heyoka.taylor_adaptive(heyoka.model.nbody(3, masses=[1.0] * 3), numpy.zeros(18), tol=2.3e-16)
    times = numpy.arange(0, end + every / 2, every)
    starts = 0
    escapes = []
    for j in range(cells):
        for i in range(cells):
            position = [[-0.5, 0, 0], [0.5, 0, 0], [0.5 * (i + 0.5) / cells, 0.9 * (j + 0.5) / cells, 0]]
            if math.dist(position[0], position[2]) > 1:
                continue
            starts += 1
            reach = 3 / sum(1 / math.dist(position[a], position[b]) for a, b in ((0, 1), (0, 2), (1, 2)))
            integrator.time = 0.0
            integrator.state[:] = numpy.ravel([list(x) + [0, 0, 0] for x in position])
            states = integrator.propagate_grid(times, max_steps=100000)[-1]
            for time, state in zip(times, states.reshape(-1, 3, 6)):
                body = escaped(state[:, :3], state[:, 3:], reach)
                if body:
                    escapes.append((time, body))
                    break
    print(f"Agekyan-Anosova, {starts} starts:")
    for time in (1, 2, 5, 10):
        bodies = [body for t, body in escapes if t <= time]
        print(f"  escaped by t = {time}: {len(bodies)}; of bodies 1, 2, 3:", [bodies.count(b) for b in (1, 2, 3)])


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
    agekyan_anosova(20, 10, 0.02)


if __name__ == "__main__":
    main()
