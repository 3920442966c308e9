#include "nbody/parameter_table.h"

#include <stdexcept>

#include "nbody/problem.h"

namespace voltpile::nbody {

namespace {

constexpr ValueRange kNotNegative = {.min = 0};

KeySpec of_bodies(const char* path, std::vector<int> shape, ValueRange range, const char* help) {
    return {.path = path, .shape = std::move(shape), .spatial = true, .range = range, .help = help};
}

KeySpec of_potential(const char* path, const char* help) {
    return {.path = path, .default_value = Reals{0}, .range = kNotNegative, .help = help};
}

std::vector<ParameterKey> make_keys() {
    std::vector<ParameterKey> keys = {
        {.spec = {.path = "system.G",
                  .range = kNotNegative,
                  .help =
                      "Gravitational constant. The problem is dimensionless: choose units of length, mass "
                      "and time and express G in them. 0: bodies that do not attract each other."},
         .first = kG},
        {.spec = {.path = "system.mass",
                  .shape = {any_length},
                  .range = kNotNegative,
                  .help = "Masses of the bodies, 2 to 8 of them. A body of mass 0 is attracted and attracts "
                          "none."},
         .first = kFirstMass},
        {.spec = of_bodies("system.position", {any_length, 3}, {},
                           "Initial positions of the bodies (length), one [x, y, z] each."),
         .first = kFirstPosition},
        {.spec = of_bodies("system.velocity", {any_length, 3}, {},
                           "Initial velocities of the bodies (length per time), one [x, y, z] each."),
         .first = kFirstVelocity},
        {.spec = {.path = "system.displacement",
                  .shape = {any_length, 3},
                  .spatial = true,
                  .default_value = Reals{},
                  .identity_default = false,
                  .help =
                      "With integrate.precision = \"double-double\": added to the positions (length), one "
                      "[x, y, z] each. A deep zoom sweeps it around zero and has the center in "
                      "system.position; the sum keeps what FP64 would round away."},
         .first = kFirstDisplacement},
        {.spec = {.path = "system.twin_shift",
                  .shape = {any_length, 3},
                  .spatial = true,
                  .default_value = Reals{},
                  .identity_default = false,
                  .help = "Added to the positions of a twin of the system (length), one [x, y, z] each; see "
                          "stop.separation. The fields lyapunov_exponent and megno follow a small deviation "
                          "instead of a twin: it starts in this direction, and the length does not matter."},
         .first = kFirstTwinShift},
        {.spec = {.path = "system.softening",
                  .default_value = Reals{0},
                  .range = kNotNegative,
                  .help = "Softening length e: two bodies at a distance r have the potential energy "
                          "-G m1 m2 / sqrt(r^2 + e^2)."},
         .first = kSoftening},
        {.spec = of_potential("potential.central_mass", "The mass M of the potentials point and plummer."),
         .first = kPotentialMass},
        {.spec = of_potential("potential.scale", "The length b of the potentials plummer and logarithmic."),
         .first = kPotentialScale},
        {.spec = of_potential("potential.frequency",
                              "The angular frequency w of the potential harmonic (1 per time)."),
         .first = kPotentialFrequency},
        {.spec = of_potential("potential.speed",
                              "The velocity v of circular orbits far out in the potential logarithmic."),
         .first = kPotentialSpeed},
        {.spec = {.path = "integrate.dt",
                  .range = {.min = 0, .min_open = true},
                  .help = "Time step (time). An adaptive method attempts it first."},
         .first = kDt},
        {.spec = {.path = "integrate.steps",
                  .type = ValueType::Integer,
                  .range = {.min = 1, .max = 2147483646},
                  .help = "Number of steps. An adaptive method integrates up to the time dt * steps."},
         .first = kSteps},
    };
    for (ParameterKey& key : keys) {
        key.spec.unit = "1";
        key.spec.sweepable = true;
    }
    return keys;
}

}  // namespace

const std::vector<ParameterKey>& parameter_keys() {
    static const std::vector<ParameterKey> keys = make_keys();
    return keys;
}

const ParameterKey* find_parameter(const std::string& key) {
    for (const ParameterKey& parameter : parameter_keys())
        if (parameter.spec.path == key) return &parameter;
    return nullptr;
}

int number_of(const std::string& key, int element) {
    const ParameterKey* const parameter = find_parameter(key);
    if (parameter == nullptr) throw std::logic_error("nbody cannot sweep " + key);
    return parameter->first + element;
}

}  // namespace voltpile::nbody
