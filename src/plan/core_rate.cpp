#include "plan/core_rate.h"

#include <array>
#include <string_view>

namespace voltpile {
namespace {

// Of what the units could do at their nominal clock: between 0.5 and 0.75 by method, type and width, in
// instructions as Workload counts them, of which the CPU kernels need up to a fifth more.
constexpr double efficiency = 0.65;

// First and second generation Xeon Scalable, 11th generation Core, and Zen 4.
constexpr std::array single_unit{"Xeon(R) Bronze 3",
                                 "Xeon(R) Silver 41",
                                 "Xeon(R) Silver 42",
                                 "Xeon(R) Gold 51",
                                 "Xeon(R) Gold 52",
                                 "Core(TM)",
                                 "AMD "};
constexpr std::array but_two{"Gold 5122", "Gold 5222"};

template <std::size_t n>
bool contains_any(std::string_view text, const std::array<const char*, n>& parts) {
    for (const char* part : parts)
        if (text.find(part) != std::string_view::npos) return true;
    return false;
}

}  // namespace

int vector_units(const Host& host) {
    const bool one = contains_any(host.cpu_name, single_unit) && !contains_any(host.cpu_name, but_two);
    return host.simd_bits >= 512 && one ? 1 : 2;
}

double core_lanes_per_s(const Host& host, bool fp64) {
    const double lanes = host.simd_bits / (fp64 ? 64.0 : 32.0);
    return lanes * vector_units(host) * host.cpu_ghz * 1e9 * efficiency;
}

}  // namespace voltpile
