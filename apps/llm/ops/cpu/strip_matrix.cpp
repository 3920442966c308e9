#include "llm/ops/cpu/strip_matrix.h"

#include <algorithm>

#include "llm/model/forget_pages.h"

namespace voltpile::llm {

StripMatrix::StripMatrix(const MatrixSource& source, WeightSlabs& slabs, CpuTeam& team)
    : HostWeights(source.format, source.rows, source.columns),
      strips_(slabs.allocate(bytes_in_strips(source.format, source.rows, source.columns))) {
    const auto strip_bytes = static_cast<std::int64_t>(bytes_in_strips(format(), strip_rows, columns()));
    const std::int64_t strips = (rows() + strip_rows - 1) / strip_rows;
    const std::int64_t at_once = std::max<std::int64_t>(1, (1 << 20) / strip_bytes);
    team.for_each((strips + at_once - 1) / at_once, [&](std::int64_t item, int) {
        const std::int64_t first = item * at_once, end = std::min(strips, first + at_once);
        const auto from = [&](std::int64_t strip) {
            return source.data + static_cast<std::size_t>(strip * strip_rows) * source.row_bytes;
        };
        for (std::int64_t strip = first; strip < end; ++strip)
            pack_strip(format(), from(strip), source.row_bytes,
                       std::min<std::int64_t>(strip_rows, rows() - strip * strip_rows), columns(),
                       strips_.get() + strip * strip_bytes);
        // Whole rows of a file will not be read again. Of parts of the columns, other matrices need the rest.
        const bool whole = source.row_bytes == row_bytes(format(), static_cast<std::size_t>(columns()));
        const std::int64_t read = std::min(end * strip_rows, rows()) - first * strip_rows;
        if (source.stays && whole)
            forget_pages(from(first), static_cast<std::size_t>(read) * source.row_bytes);
    });
}

void StripMatrix::read_rows(std::int64_t begin, std::int64_t end, std::byte* to) const {
    const std::size_t row_bytes = llm::row_bytes(format(), static_cast<std::size_t>(columns()));
    while (begin < end) {
        const std::int64_t first = begin / strip_rows * strip_rows;
        const std::int64_t until = std::min(end, first + strip_rows);
        unpack_rows(format(), strips() + static_cast<std::size_t>(first) * row_bytes, begin - first,
                    until - first, columns(), to);
        to += static_cast<std::size_t>(until - begin) * row_bytes;
        begin = until;
    }
}

}  // namespace voltpile::llm
