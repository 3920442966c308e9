#include "results/statistics.h"

#include <algorithm>
#include <cmath>

#include "results/rows.h"

namespace voltpile {
namespace {

constexpr std::int64_t rows_per_block = 256;

void add_lengths(const FieldBuffer& buffer, WorkRange range, const FieldSpec& field, Statistics& statistics) {
    const RowsView rows(buffer, range.size(), field.value_bytes());
    for (std::int64_t i = 0; i < rows.size(); ++i) statistics.add(static_cast<double>(rows.length(i)));
}

}  // namespace

void Statistics::add(double value) {
    if (std::isnan(value)) {
        ++nan;
        return;
    }
    if (std::isinf(value)) {
        ++infinite;
        return;
    }
    ++finite;
    sum_ += value;
    min = std::min(min, value);
    if (value > max) {
        max = value;
        at_maximum = 0;
    }
    if (value == max) ++at_maximum;
}

Statistics field_statistics(const ResultReader& result, const FieldSpec& field) {
    constexpr std::int64_t values_per_block = 1 << 19;
    const std::int64_t block =
        field.variable() ? rows_per_block
                         : std::max<std::int64_t>(
                               1, values_per_block / static_cast<std::int64_t>(field.values_per_point()));
    Statistics statistics;
    for (const WorkRange& range : result.completed().ranges()) {
        for (std::int64_t at = range.begin; at < range.end; at += block) {
            const WorkRange piece{at, std::min(at + block, range.end)};
            if (field.variable())
                add_lengths(result.read_rows(field, piece), piece, field, statistics);
            else
                for (double value : result.read(field, piece)) statistics.add(value);
        }
    }
    return statistics;
}

}  // namespace voltpile
