#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "llm/ops/cpu/kernels.h"
#include "llm/ops/cpu/strip_matrix.h"
#include "random_blocks.h"

namespace voltpile::llm {
namespace {

std::vector<WeightFormatInfo> strip_formats() {
    std::vector<WeightFormatInfo> formats;
    for (const WeightFormatInfo& entry : kWeightFormats)
        if (has_integer_product(entry.format)) formats.push_back(entry);
    return formats;
}

// Rows come back as they are in the file: of matrices whose last strip is not full, from parts of the columns
// and with any number of threads.
TEST(StripMatrix, GivesTheRowsBack) {
    for (const WeightFormatInfo& entry : strip_formats()) {
        const std::int64_t rows = 38, columns = 512, all_columns = 768;
        const std::size_t stride = row_bytes(entry.format, all_columns),
                          bytes = row_bytes(entry.format, columns);
        const auto file = random_blocks(
            entry.format, 5, static_cast<std::size_t>(rows) * all_columns / entry.block_size, 0.03);
        const std::byte* const from = file.data() + (stride - bytes);
        for (const int threads : {1, 3}) {
            CpuTeam team(std::vector<int>(static_cast<std::size_t>(threads), -1));
            WeightSlabs slabs;
            const StripMatrix matrix({entry.format, rows, columns, stride, from, false}, slabs, team);
            std::vector<std::byte> read(static_cast<std::size_t>(rows) * bytes);
            matrix.read_rows(0, 5, read.data());
            matrix.read_rows(5, rows, read.data() + 5 * bytes);
            for (std::int64_t r = 0; r < rows; ++r)
                ASSERT_EQ(0, std::memcmp(read.data() + static_cast<std::size_t>(r) * bytes,
                                         from + static_cast<std::size_t>(r) * stride, bytes))
                    << entry.name << ", row " << r;
        }
    }
}

// The bytes of a block at an offset begin at 16 times the offset, and those of 16 rows lie side by side.
TEST(StripLayout, PutsTheUnitsOfRowsSideBySide) {
    for (const WeightFormatInfo& entry : strip_formats()) {
        const std::size_t bytes = entry.block_bytes;
        const auto columns = static_cast<std::int64_t>(entry.block_size);
        const auto file = random_blocks(entry.format, 6, strip_rows, 0.03);
        std::vector<std::byte> strip(bytes_in_strips(entry.format, strip_rows, columns));
        ASSERT_EQ(strip_rows * bytes, strip.size());
        pack_strip(entry.format, file.data(), bytes, strip_rows, columns, strip.data());
        const bool last = entry.format == WeightFormat::Q3_K || entry.format == WeightFormat::Q6_K;
        const std::size_t odd = bytes % 4, odd_at = last ? bytes - odd : 0;
        for (std::size_t row = 0; row < strip_rows; ++row) {
            const auto expect_unit = [&](std::size_t offset, std::size_t size) {
                EXPECT_EQ(0, std::memcmp(strip.data() + strip_rows * offset + row * size,
                                         file.data() + row * bytes + offset, size))
                    << entry.name << ", row " << row << ", byte " << offset;
            };
            if (odd != 0) expect_unit(odd_at, odd);
            for (std::size_t offset = odd_at == 0 ? odd : 0; offset + 4 <= bytes; offset += 4)
                expect_unit(offset, 4);
        }
    }
}

// Pieces of a slab do not overlap, and outlive the slabs' owner.
TEST(WeightSlabs, GivesPiecesThatStay) {
    std::vector<std::shared_ptr<std::byte>> pieces;
    const std::vector<std::size_t> sizes{1, 64, 100, std::size_t{70} << 20, 3};
    {
        WeightSlabs slabs;
        for (const std::size_t size : sizes) {
            pieces.push_back(slabs.allocate(size));
            EXPECT_EQ(0U, reinterpret_cast<std::uintptr_t>(pieces.back().get()) % 64);
            std::memset(pieces.back().get(), static_cast<int>(pieces.size()), size);
        }
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        EXPECT_EQ(std::byte(i + 1), pieces[i].get()[0]);
        EXPECT_EQ(std::byte(i + 1), pieces[i].get()[sizes[i] - 1]);
    }
}

}  // namespace
}  // namespace voltpile::llm
