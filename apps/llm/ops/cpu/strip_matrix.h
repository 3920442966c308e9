// A matrix in host memory whose products are made of integers, packed for them (strip_layout.h).
#pragma once

#include <memory>

#include "llm/ops/cpu/strip_layout.h"
#include "llm/ops/cpu/team.h"
#include "llm/ops/cpu/weight_slabs.h"
#include "llm/ops/host_ops.h"

namespace voltpile::llm {

class StripMatrix final : public HostWeights {
  public:
    // Copies the source, with all threads of the team, and hands the pages of mapped files back to the
    // kernel. Throws DeviceError if the system gives no memory.
    StripMatrix(const MatrixSource& source, WeightSlabs& slabs, CpuTeam& team);

    const std::byte* strips() const { return strips_.get(); }
    void read_rows(std::int64_t begin, std::int64_t end, std::byte* to) const override;

  private:
    std::shared_ptr<std::byte> strips_;
};

inline const StripMatrix& in_strips(const WeightMatrix& matrix) {
    return static_cast<const StripMatrix&>(matrix);
}

}  // namespace voltpile::llm
