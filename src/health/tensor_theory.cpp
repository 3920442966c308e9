#include "health/tensor_theory.h"

#include <string>

#include "health/figure.h"

namespace voltpile {
namespace {

// Multiply-adds per clock and multiprocessor, from NVIDIA's descriptions of each architecture. GeForce cards
// since Turing do half as many as their siblings.
double multiply_adds_per_clock(int compute_capability, bool geforce) {
    switch (compute_capability) {
        case 70:
            return 512;
        case 75:
        case 86:
        case 89:
        case 120:
            return geforce ? 256 : 512;
        case 80:
            return 1024;
        case 90:
            return 2048;
        case 100:
            return 4096;
        default:
            return 0;
    }
}

// Hopper and newer reach their full rate only with instructions of their own, and about 0.6 of it with the
// one that all GPUs since Volta have.
constexpr int first_with_own_instructions = 90;
constexpr double least_share_of_portable = 0.4;

}  // namespace

TensorTheory tensor_theory(const Gpu& gpu) {
    const bool geforce = gpu.name.find("GeForce") != std::string::npos;
    const double per_clock = multiply_adds_per_clock(gpu.compute_capability, geforce);
    // Newer chips for desktops have a higher compute capability, but work as older ones do.
    const bool own = gpu.compute_capability >= first_with_own_instructions && gpu.compute_capability < 120;
    return {2 * per_clock * gpu.multiprocessors * gpu.clock_ghz * 1e9,
            own ? least_share_of_portable : facts(FigureKind::Tensor).least_share};
}

}  // namespace voltpile
