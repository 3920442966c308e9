// Activations in the order in which outer products (outer_product.h) read them: groups of rows, whose numbers
// of a column are adjacent.
#pragma once

#include <cstdint>

namespace voltpile::llm {

constexpr std::int64_t rows_of_group = 6;

// Returns the numbers of a group of rows with so many columns, which are padded with zeros.
constexpr std::int64_t numbers_of_group(std::int64_t columns) {
    return (columns + 31) / 32 * 32 * rows_of_group;
}

// Rows that consist of parts are grouped part by part, so the last group of each may have fewer rows. Returns
// a bound of the groups of the parts before `part`, which begins with row `begin`: where its own go.
constexpr std::int64_t first_group_of(std::int64_t begin, std::int64_t part) {
    return begin / rows_of_group + part;
}

}  // namespace voltpile::llm
