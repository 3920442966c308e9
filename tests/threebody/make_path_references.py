#!/usr/bin/env python3
"""Computes with REBOUND (PyPI: rebound) what path_fields_test.cpp and lyapunov_test.cpp expect of whole samples of starts.

Usage: make_path_references.py

H. Rein and S.-F. Liu, Astron. Astrophys. 537, A128, 2012; the integrator is IAS15 (H. Rein and D. S. Spiegel, Mon. Not. R.
Astron. Soc. 446, 1424, 2015) at its default tolerance. Nothing is shared with the program. Takes about two minutes.
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


def escaped(sim, reach):
    """The body, 1 to 3, of which the condition of escape.h holds; 0: of none."""
    p = sim.particles
    total = sum(q.m for q in p)
    for k in range(3):
        i, j = [n for n in range(3) if n != k]
        if math.dist(p[i].xyz, p[j].xyz) > reach:
            continue
        pair = p[i].m + p[j].m
        x = [a - (p[i].m * b + p[j].m * c) / pair for a, b, c in zip(p[k].xyz, p[i].xyz, p[j].xyz)]
        v = [a - (p[i].m * b + p[j].m * c) / pair for a, b, c in zip(p[k].vxyz, p[i].vxyz, p[j].vxyz)]
        rho = math.hypot(*x)
        rate = sum(a * b for a, b in zip(x, v)) / rho
        if rho > 2 * reach and rate > 0 and rate * rate / 2 >= sim.G * total / (rho - reach):
            return k + 1
    return 0


def agekyan_anosova(cells, end, every):
    """The starts of a grid within the map of Agekyan and Anosova: time and body of their escapes."""
    starts = []
    for j in range(cells):
        for i in range(cells):
            x = 0.5 * (i + 0.5) / cells
            y = 0.9 * (j + 0.5) / cells
            if (x + 0.5) ** 2 + y * y <= 1:
                starts.append((x, y))
    escapes = []
    for x, y in starts:
        position = [[-0.5, 0, 0], [0.5, 0, 0], [x, y, 0]]
        sim = simulation([1] * 3, position, [[0] * 3] * 3)
        reach = 3 / sum(1 / math.dist(position[a], position[b]) for a, b in ((0, 1), (0, 2), (1, 2)))
        body = 0
        while sim.t < end and not body:
            sim.integrate(sim.t + every, exact_finish_time=0)
            body = escaped(sim, reach)
        if body:
            escapes.append((sim.t, body))
    print(f"Agekyan-Anosova, {len(starts)} starts:")
    for time in (5, 10, 20, 40):
        if time <= end:
            bodies = [body for t, body in escapes if t <= time]
            print(f"  escaped by t = {time}: {len(bodies)}; of bodies 1, 2, 3:", [bodies.count(b) for b in (1, 2, 3)])


def megno(name, mass, position, velocity, times):
    sim = simulation(mass, position, velocity)
    sim.init_megno(seed=1)
    for time in times:
        sim.integrate(time)
        print(f"{name}: t = {time}: MEGNO {sim.megno():.4f}, Lyapunov exponent {sim.lyapunov():.5f}")


def main():
    vx, vy = 0.93240737144104, 0.86473146092102
    eight = [[0.97000435669734, -0.24308753153583, 0], [-0.97000435669734, 0.24308753153583, 0], [0, 0, 0]]
    megno("figure-eight", [1] * 3, eight, [[vx / 2, vy / 2, 0], [vx / 2, vy / 2, 0], [-vx, -vy, 0]], (600, 2000))
    # A moon of 1/100 around a planet and a star: an ordinary hierarchy.
    megno("hierarchy", [1, 0.01, 0.001], [[0] * 3, [1, 0, 0], [4, 0, 0]],
          [[0] * 3, [0, math.sqrt(1.01), 0], [0, math.sqrt(1.011 / 4), 0]], (600, 2000))
    # Two planets too close to each other: chaotic.
    megno("crowded", [1, 0.001, 0.001], [[0] * 3, [1, 0, 0], [-1.17, 0, 0]],
          [[0] * 3, [0, math.sqrt(1.001), 0], [0, -math.sqrt(1.001 / 1.17), 0]], (600, 2000))
    agekyan_anosova(20, 40, 0.02)


if __name__ == "__main__":
    main()
