#!/usr/bin/env python3
"""Computes with REBOUND (PyPI: rebound) what deviation_test.cpp expects.

Usage: make_deviation_references.py | clang-format > deviation_references.h

The growth of a deviation and MEGNO by the variational equations of REBOUND (H. Rein and D. Tamayo, Mon. Not. R. Astron. Soc.
459, 2275, 2016) with IAS15, along the given shifts. Nothing is shared with the program.
"""

import math

import rebound

HEAD = """// Made by make_deviation_references.py.
#pragma once

#include <vector>

#include "nbody/run_job.h"

namespace voltpile::nbody::testing {

struct DeviationReference {
    const char* name;
    double G, time;
    std::vector<Body> bodies;
    std::vector<std::vector<double>> shift;
    double growth;        // ln of the deviation's growth until `time`
    double growth_error;  // larger where the orbit itself is chaotic
    double megno;
};

inline std::vector<DeviationReference> deviation_references() {
    return {"""
TAIL = """    };
}

}  // namespace voltpile::nbody::testing"""


def jupiter_and_saturn(a, e):
    """The stability map of REBOUND's MEGNO example, after K. Gozdziewski et al., Astron. Astrophys. 378, 569, 2001."""
    sim = rebound.Simulation()
    sim.G = 4 * math.pi**2
    sim.add(m=1.0)
    sim.add(m=0.000954, a=5.204, M=0.600, omega=0.257, e=0.048)
    sim.add(m=0.000285, a=a, M=0.871, omega=1.616, e=e)
    sim.move_to_com()
    return sim


def giants():
    """Four planets, somewhat as those of the Sun, with inclinations."""
    sim = rebound.Simulation()
    sim.G = 4 * math.pi**2
    sim.add(m=1.0)
    for k, (m, a, e, inc) in enumerate([(9.5e-4, 5.2, 0.05, 0.02), (2.9e-4, 9.55, 0.055, 0.04), (4.4e-5, 19.2, 0.05, 0.01),
                                        (5.2e-5, 30.1, 0.01, 0.03)]):
        sim.add(m=m, a=a, e=e, inc=inc, omega=0.3 + k, Omega=1.1 * k, M=2.0 - 0.7 * k)
    sim.move_to_com()
    return sim


def follow(sim, shift, time):
    """Returns ln of the growth of a deviation that starts along the shift, and REBOUND's MEGNO."""
    sim.integrator = "ias15"
    sim.init_megno(seed=1)
    size = math.sqrt(sum(x * x for of in shift for x in of))
    deviations = list(sim.particles_var)
    for particle, of in zip(deviations, shift):
        particle.x, particle.y, particle.z = (x / size for x in of)
        particle.vx = particle.vy = particle.vz = 0.0
    sim.integrate(time, exact_finish_time=1)
    squared = sum(c * c for d in deviations for c in (d.x, d.y, d.z, d.vx, d.vy, d.vz))
    return 0.5 * math.log(squared), sim.megno()


def print_case(name, sim, shift, time, error):
    bodies = [(p.m, (p.x, p.y, p.z), (p.vx, p.vy, p.vz)) for p in sim.particles]
    gravity = sim.G
    growth, megno = follow(sim, shift, time)
    triple = "{{{!r}, {!r}, {!r}}}".format
    print(f'        {{"{name}",\n         {gravity!r},\n         {time!r},\n         {{')
    for m, x, v in bodies:
        print(f"             {{{m!r}, {triple(*x)}, {triple(*v)}}},")
    print("         },\n         {" + ", ".join(triple(*of) for of in shift) + "},")
    print(f"         {growth!r},\n         {error!r},\n         {megno!r}}},", flush=True)


def main():
    print(HEAD)
    shift = [[0.0, 0.0, 0.0], [0.3, -0.2, 0.1], [1.0, 0.5, -0.4]]
    print_case("regular Saturn", jupiter_and_saturn(9.58, 0.056), shift, 500.0, 1e-5)
    print_case("chaotic Saturn", jupiter_and_saturn(7.5, 0.3), shift, 300.0, 1e-4)
    print_case("giants", giants(), [*shift, [0.2, 0.1, 0.3], [-0.4, 0.6, 0.1]], 1000.0, 1e-5)
    print(TAIL)


if __name__ == "__main__":
    main()
