// Products with quantized weights on CPUs: the same bits with every set of instructions.
#include "llm/ops_fixture.h"
#include "llm/software_tiles.h"

namespace voltpile::llm {
namespace {

struct NamedKernels {
    std::string name;
    CpuKernels kernels;
};

std::vector<NamedKernels> kernels_with_integers() {
    std::vector<NamedKernels> all;
    for (const CpuLevel level : usable_cpu_levels()) {
        const CpuKernels kernels = cpu_kernels(level);
        if (kernels.integer_product != nullptr)
            all.push_back({std::string(name(level)) + (with_amx(kernels) ? " and AMX" : ""), kernels});
    }
    if (all.empty() || all.front().kernels.level != CpuLevel::Avx512) return all;
    const auto add = [&](const char* name, void (*product)(const Product&)) {
        all.push_back({name, all.front().kernels});
        all.back().kernels.integer_product = product;
    };
    add("AVX-512 without VNNI", cpu_kernels(CpuLevel::Avx2).integer_product);
#if defined(VOLTPILE_SOFTWARE_TILES)
    if (has_avx512_vnni()) {
        add("AVX-512 without AMX", compiled_cpu_kernels<CpuLevel::Avx512>().integer_product);
        add("tiles in software", software_tile_product);
    }
#endif
    return all;
}

TEST(IntegerProducts, DoNotDependOnTheInstructions) {
    constexpr std::int64_t weights_count = 230;
    const std::vector<NamedKernels> all = kernels_with_integers();
    if (all.empty()) GTEST_SKIP() << "this processor has no AVX2";
    const auto check = [&](WeightFormat format, std::int64_t rows, std::int64_t columns) {
        std::vector<float> x(static_cast<std::size_t>(rows * columns));
        std::mt19937 random(3);
        for (float& value : x) value = std::normal_distribution<float>()(random);
        const std::size_t bytes_of_row = row_bytes(format, static_cast<std::size_t>(columns));
        const auto bytes = random_blocks(
            format, 7, static_cast<std::size_t>(columns * weights_count) / block_size(format), 0.03);
        std::vector<float> first;
        for (const NamedKernels& each : all) {
            CpuOps ops({-1}, each.kernels);
            const auto matrix =
                ops.load_matrix({format, weights_count, columns, bytes_of_row, bytes.data(), false});
            std::vector<float> out(static_cast<std::size_t>(rows * weights_count));
            ops.matmul(HiddenRows{x.data(), rows, columns}, *matrix,
                       FloatRows{out.data(), rows, weights_count});
            if (first.empty()) first = out;
            EXPECT_EQ(0, std::memcmp(first.data(), out.data(), out.size() * sizeof(float)))
                << each.name << ", " << name(format) << ", " << rows << " rows of " << columns;
        }
    };
    for (const WeightFormat format : kIntegerProductFormats) {
        // Fewer rows than a tile has, as many, more with a rest, and so many that work items have several
        // panels, of which the last one is not full.
        for (const std::int64_t rows : {6, 16, 37, 70}) check(format, rows, 1536);
        if (block_size(format) == 32) check(format, 37, 1120);  // the last panel is not full
    }
}

}  // namespace
}  // namespace voltpile::llm
