"""Writes references.h: random starts of five to eight bodies and where scipy's DOP853 takes them.

    python3 make_references.py > references.h     (with numpy and scipy)
"""

import numpy
from scipy.integrate import solve_ivp

G = 1.3
SOFTENING = 0.05
TIME = 3.0
CASES = (
    (5, "none", ""),
    (6, "plummer", "central_mass = 1.5\nscale = 0.4\n"),
    (7, "logarithmic", "speed = 0.9\nscale = 0.3\n"),
    (8, "harmonic", "frequency = 0.8\n"),
)
PULLS = {  # acceleration toward the origin, divided by the distance
    "none": lambda r2: 0 * r2,
    "plummer": lambda r2: G * 1.5 * (r2 + 0.4**2) ** -1.5,
    "logarithmic": lambda r2: 0.9**2 / (r2 + 0.3**2),
    "harmonic": lambda r2: 0.8**2 + 0 * r2,
}


def accelerations(x, mass, pull):
    d = x[None, :, :] - x[:, None, :]
    r2 = (d**2).sum(axis=2) + SOFTENING**2
    pairs = G * (mass[None, :, None] * d * r2[:, :, None] ** -1.5).sum(axis=1)
    return pairs - pull((x**2).sum(axis=1))[:, None] * x


def end_of(x, v, mass, pull):
    n = len(mass)

    def rates(_, y):
        return numpy.concatenate([y[3 * n :], accelerations(y[: 3 * n].reshape(n, 3), mass, pull).ravel()])

    start = numpy.concatenate([x.ravel(), v.ravel()])
    path = solve_ivp(rates, (0, TIME), start, method="DOP853", rtol=1e-13, atol=1e-14)
    assert path.success
    return path.y[: 3 * n, -1].reshape(n, 3)


def braces(numbers):
    return "{" + ", ".join(repr(float(number)) for number in numbers) + "}"


def main():
    random = numpy.random.default_rng(20)
    print("// Made by make_references.py.\n#pragma once\n\n#include <vector>\n\n#include \"nbody/run_job.h\"\n")
    print("namespace voltpile::nbody::testing {\n")
    print("struct Reference {\n    const char* potential;  // its table\n    std::vector<Body> start;")
    print("    std::vector<Body> end;  // without velocities\n};\n")
    print(f"inline constexpr double kReferenceG = {G}, kReferenceSoftening = {SOFTENING}, kReferenceTime = {TIME};\n")
    print("inline std::vector<Reference> references() {\n    return {")
    for n, kind, keys in CASES:
        mass = random.uniform(0.1, 1, n).round(3)
        x, v = random.uniform(-1.5, 1.5, (n, 3)).round(3), random.uniform(-0.6, 0.6, (n, 3)).round(3)
        end = end_of(x, v, mass, PULLS[kind])
        table = f'[potential]\nkind = "{kind}"\n{keys}'.replace("\n", "\\n").replace('"', '\\"')
        print(f'        {{"{table}",\n         {{')
        for i in range(n):
            print(f"             {{{mass[i]}, {braces(x[i])}, {braces(v[i])}}},")
        print("         },\n         {")
        for i in range(n):
            print(f"             {{{mass[i]}, {braces(end[i])}, {{}}}},")
        print("         }},")
    print("    };\n}\n\n}  // namespace voltpile::nbody::testing")


main()
