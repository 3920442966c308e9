#include "llm/ops/cpu/strip_matrix.h"

#include <algorithm>

namespace voltpile::llm {

StripMatrix::StripMatrix(const MatrixSource& source, WeightSlabs& slabs, CpuTeam& team)
    : HostWeights(source.format, source.rows, source.columns),
      strips_(slabs.allocate(bytes_in_strips(source.format, source.rows, source.columns))) {
    const auto strip_bytes = static_cast<std::int64_t>(bytes_in_strips(format(), strip_rows, columns()));
    const std::int64_t strips = (rows() + strip_rows - 1) / strip_rows;
    team.for_each(strips, [&](std::int64_t strip, int) {
        const std::int64_t row = strip * strip_rows;
        pack_strip(format(), source.data + static_cast<std::size_t>(row) * source.row_bytes, source.row_bytes,
                   std::min<std::int64_t>(strip_rows, rows() - row), columns(),
                   strips_.get() + strip * strip_bytes);
    });
}

void StripMatrix::read_rows(std::int64_t begin, std::int64_t end, std::byte* to) const {
    const std::size_t row_bytes = llm::row_bytes(format(), static_cast<std::size_t>(columns()));
    for (std::int64_t row = begin; row < end; ++row, to += row_bytes) {
        const std::int64_t strip = row / strip_rows * strip_rows;
        unpack_row(format(), strips() + static_cast<std::size_t>(strip) * row_bytes, row - strip, columns(),
                   to);
    }
}

}  // namespace voltpile::llm
