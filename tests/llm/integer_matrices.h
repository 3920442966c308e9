// Matrices of a side that products multiply together, and may round to integers (Ops::allow_integers).
#pragma once

#include "llm/ops_fixture.h"

namespace voltpile::llm {

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
