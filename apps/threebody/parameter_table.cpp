#include "threebody/parameter_table.h"

#include <cstddef>
#include <stdexcept>

namespace voltpile::threebody {

namespace {

#define VOLTPILE_INDEX(member) static_cast<int>(offsetof(Parameters, member) / sizeof(double))

std::vector<ParameterKey> make_keys() {
    std::vector<ParameterKey> keys = {
        {.spec = {.path = "system.G",
                  .range = {.min = 0},
                  .help =
                      "Gravitational constant. The problem is dimensionless: choose units of length, mass "
                      "and time and express G in them."},
         .first = VOLTPILE_INDEX(G),
         .in_forces = true},
        {.spec = {.path = "system.mass",
                  .shape = {3},
                  .range = {.min = 0, .min_open = true},
                  .help = "Masses of the bodies. They must not be zero: the integrators advance momenta and "
                          "divide by the mass."},
         .first = VOLTPILE_INDEX(mass),
         .in_forces = true,
         .divides = true},
        {.spec = {.path = "system.position",
                  .shape = {3, 3},
                  .spatial = true,
                  .help = "Initial positions of the bodies (length), one [x, y, z] each."},
         .first = VOLTPILE_INDEX(position)},
        {.spec = {.path = "system.velocity",
                  .shape = {3, 3},
                  .spatial = true,
                  .help = "Initial velocities of the bodies (length per time), one [x, y, z] each."},
         .first = VOLTPILE_INDEX(velocity)},
        {.spec = {.path = "system.displacement",
                  .shape = {3},
                  .spatial = true,
                  .default_value = Reals{0, 0, 0},
                  .identity_default = false,
                  .help = "Added to the position of body 1 of both systems (length). A deep zoom sweeps it "
                          "around zero and has the center in system.position: with integrate.precision = "
                          "\"double-double\" the sum keeps what FP64 would round away."},
         .first = VOLTPILE_INDEX(displacement)},
        {.spec = {.path = "system.twin_shift",
                  .shape = {3},
                  .spatial = true,
                  .default_value = Reals{0.001, 0.001, 0.001},
                  .help =
                      "The twin is a copy of the system with this vector added to the position of body 1 "
                      "(length). Zooming into a map requires smaller shifts, limited by the spacing of FP64 "
                      "numbers: at the center (5.30031, -0.45), with a frame of width 40/2^(k/30) and a "
                      "shift of 0.001/2^(k/30), the limit is near k = 490. Long before that, pixels depend "
                      "on the order of summation. integrate.precision = \"double-double\" goes on from "
                      "there."},
         .first = VOLTPILE_INDEX(twin_shift)},
        {.spec =
             {.path = "integrate.dt",
              .range = {.min = 0, .min_open = true},
              .help =
                  "Time step (time). An adaptive method attempts it first; its result counts time in it."},
         .first = VOLTPILE_INDEX(dt),
         .in_forces = true,
         .divides = true},
        {.spec = {.path = "integrate.steps",
                  .type = ValueType::Integer,
                  .range = {.min = 1, .max = 2147483646},
                  .help =
                      "Maximum number of steps; the integration ends earlier if the twins part. An adaptive "
                      "method integrates up to the time dt * steps."},
         .first = VOLTPILE_INDEX(steps)},
    };
    for (ParameterKey& key : keys) {
        key.spec.unit = "1";
        key.spec.sweepable = true;
    }
    return keys;
}

}  // namespace

int ParameterKey::count() const {
    int numbers = 1;
    for (const int length : spec.shape) numbers *= length;
    return numbers;
}

const std::vector<ParameterKey>& parameter_keys() {
    static const std::vector<ParameterKey> keys = make_keys();
    return keys;
}

int parameter_index(const std::string& key, int element) {
    for (const ParameterKey& parameter : parameter_keys()) {
        if (parameter.spec.path == key) return parameter.first + element;
    }
    throw std::logic_error("threebody cannot sweep " + key);
}

}  // namespace voltpile::threebody
