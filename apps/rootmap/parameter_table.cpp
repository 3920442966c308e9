#include "rootmap/parameter_table.h"

#include <cstddef>
#include <stdexcept>
#include <string>

#include "rootmap/methods.h"

namespace voltpile::rootmap {

namespace {

#define VOLTPILE_INDEX(member) static_cast<int>(offsetof(ParameterSet<double>, member) / sizeof(double))

ParameterKey pair_key(const char* path, int first, Reals value, const char* help) {
    return {.spec = {.path = path,
                     .shape = {2},
                     .spatial = true,
                     .default_value = std::move(value),
                     .help = help},
            .first = first,
            .numbers = 2};
}

ParameterKey number_key(const char* path, int first, double value, const char* help) {
    return {.spec = {.path = path, .default_value = Reals{value}, .help = help}, .first = first};
}

std::vector<ParameterKey> make_parameter_keys() {
    std::vector<ParameterKey> keys = {
        pair_key("map.start", VOLTPILE_INDEX(start), {0, 0},
                 "The first point, [x, y]: of a complex number the real and the imaginary part."),
        pair_key("map.constant", VOLTPILE_INDEX(constant), {0, 0},
                 "c of mandelbrot, julia and burning_ship, [x, y]."),
        number_key("map.a", VOLTPILE_INDEX(a), 0, "a of henon, clifford and de_jong."),
        number_key("map.b", VOLTPILE_INDEX(b), 0, "b of henon, clifford and de_jong."),
        number_key("map.c", VOLTPILE_INDEX(c), 0, "c of clifford and de_jong."),
        number_key("map.d", VOLTPILE_INDEX(d), 0, "d of clifford and de_jong."),
        number_key("map.relaxation", VOLTPILE_INDEX(relaxation), 1,
                   "Methods for roots: each step is multiplied by it."),
        pair_key("map.secant_step", VOLTPILE_INDEX(secant_step), {0.01, 0},
                 "The secant method's second point, relative to the first, [x, y]."),
    };
    for (ParameterKey& key : keys) {
        key.spec.unit = "1";
        key.spec.sweepable = true;
        key.spec.range = {.min = -1e6, .max = 1e6};
    }
    return keys;
}

}  // namespace

const std::vector<ParameterKey>& parameter_keys() {
    static const std::vector<ParameterKey> keys = make_parameter_keys();
    return keys;
}

int parameter_index(std::string_view key, int element) {
    for (const ParameterKey& parameter : parameter_keys()) {
        if (parameter.spec.path == key) return parameter.first + element;
    }
    throw std::logic_error("rootmap cannot sweep " + std::string(key));
}

bool uses(Method method, std::string_view key) {
    const std::string_view name = key.substr(key.find('.') + 1);
    if (name == "start") return true;
    return std::string_view(info(method).parameters).find(std::string(name) + " ") != std::string_view::npos;
}

}  // namespace voltpile::rootmap
