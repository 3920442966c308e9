// The table of integrators. To add one, write integrators/<name>.h, include it in integrators/all.h and add
// one line here: its type, and the name of its file.
#pragma once

#define VOLTPILE_THREEBODY_METHODS(USE) \
    USE(Euler, euler)                   \
    USE(Leapfrog, leapfrog)             \
    USE(Yoshida4, yoshida4)             \
    USE(SymplecticNystrom6, srkn6)      \
    USE(RungeKutta4, rk4)               \
    USE(RungeKuttaNystrom8, rkn8)       \
    USE(GraggBulirschStoer10, gbs10)

namespace voltpile::threebody {

enum class Method : int {
#define VOLTPILE_ENUMERATOR(Integrator, file) Integrator,
    VOLTPILE_THREEBODY_METHODS(VOLTPILE_ENUMERATOR)
#undef VOLTPILE_ENUMERATOR
};

}  // namespace voltpile::threebody
