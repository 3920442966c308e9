// Matrices of a side that products multiply together, and may round to integers (Ops::allow_integers).
#pragma once

#include <optional>

#include "llm/ops_fixture.h"
#if VOLTPILE_CUDA
#include "device/capability.h"
#include "llm/ops/cuda/int8_product.h"
#endif

namespace voltpile::llm {

#if VOLTPILE_CUDA
// The rows of x from which on the GPU multiplies integers where it has copies of the weights, unless
// batch-invariant; nothing if it never does.
inline std::optional<LeastInt8Rows> least_integer_rows() {
    const Int8Device device = int8_device(current_compute_capability(), 1);
    return device.kernel == Int8Kernel::None ? std::nullopt : std::optional(device.least);
}
#endif

constexpr std::size_t room_for_copies = std::size_t{1} << 30;  // of weights as integers

struct IntegerMatrices {
    std::vector<std::unique_ptr<WeightMatrix>> owned;
    std::vector<const WeightMatrix*> all;
    IntegerMatrices(Side& side, const std::vector<MatrixSource>& sources, bool gated) {
        std::vector<WeightMatrix*> together;
        for (const MatrixSource& each : sources) {
            owned.push_back(side.ops->load_matrix(each));
            together.push_back(owned.back().get());
            all.push_back(owned.back().get());
        }
        side.ops->allow_integers(together, gated);
    }
};

}  // namespace voltpile::llm
