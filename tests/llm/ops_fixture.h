// Runs one test body on every implementation of Ops and on ReferenceOps, and bounds the normalized mean
// square error of the results.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "base/half.h"
#include "device/device.h"
#include "llm/ops/cpu/cpu_ops.h"
#if VOLTPILE_CUDA
#include "device/capability.h"
#include "llm/ops/cuda/cuda_ops.h"
#include "llm/ops/cuda/int8_product.h"
#endif
#include "llm/ops/reference_ops.h"
#include "random_blocks.h"

namespace voltpile::llm {

struct OpsMaker {
    std::string name;
    std::function<std::unique_ptr<Ops>(bool clamp)> make_with;
    std::unique_ptr<Ops> make(bool clamp = false) const { return make_with(clamp); }
};

// GoogleTest would otherwise print the bytes of the object.
inline void PrintTo(const OpsMaker& maker, std::ostream* out) {
    *out << maker.name;
}

// Returns CpuOps with every instruction set that this CPU has on several threads, and with the last one also
// on one thread: how threads share work does not depend on instructions.
inline std::vector<OpsMaker> cpu_ops_makers() {
    std::vector<OpsMaker> makers;
    const auto add = [&](CpuLevel level, int threads) {
        std::string name = std::string(voltpile::name(level)) + "_" + std::to_string(threads) + "_threads";
        std::erase(name, '-');
        makers.push_back({name, [level, threads](bool clamp) {
                              return std::make_unique<CpuOps>(
                                  std::vector<int>(static_cast<std::size_t>(threads), -1), cpu_kernels(level),
                                  clamp);
                          }});
    };
    const auto levels = usable_cpu_levels();
    for (const CpuLevel level : levels) add(level, 3);
    add(levels.back(), 1);
    return makers;
}

#if VOLTPILE_CUDA
// The rows of x from which on the GPU multiplies integers where it has copies of the weights, unless
// batch-invariant; nothing if it never does.
inline std::optional<LeastInt8Rows> least_integer_rows() {
    const Int8Device device = int8_device(current_compute_capability(), 1);
    return device.kernel == Int8Kernel::None ? std::nullopt : std::optional(device.least);
}
#endif

// batch_invariant: see CudaOpsSettings; CpuOps always is. integer_bytes: also there.
inline OpsMaker gpu_ops_maker([[maybe_unused]] bool batch_invariant,
                              [[maybe_unused]] std::size_t integer_bytes = 0) {
    const std::string name = batch_invariant ? "gpu_batch_invariant" : "gpu";
#if VOLTPILE_CUDA
    CudaOpsSettings settings;
    settings.batch_invariant = batch_invariant;
    settings.integer_bytes = integer_bytes;
    return {name, [settings](bool clamp) mutable {
                settings.clamp = clamp;
                return make_cuda_ops(0, settings);
            }};
#else
    return {name, [](bool) { return std::unique_ptr<Ops>(); }};
#endif
}

// The list of all implementations.
#define VOLTPILE_FOR_ALL_OPS(suite)                                                                  \
    INSTANTIATE_TEST_SUITE_P(Cpu, suite, testing::ValuesIn(cpu_ops_makers()),                        \
                             [](const auto& maker) { return maker.param.name; });                    \
    INSTANTIATE_TEST_SUITE_P(Gpu, suite, testing::Values(gpu_ops_maker(false), gpu_ops_maker(true)), \
                             [](const auto& maker) { return maker.param.name; })

// An implementation together with the memory of a test. Inputs are exact in fp16, so that all implementations
// see the same numbers.
class Side {
  public:
    explicit Side(std::unique_ptr<Ops> operations) : ops(std::move(operations)) {}

    template <class T>
    T* up(const std::vector<T>& values) {
        memory_.push_back(ops->allocate(values.size() * sizeof(T) + 1));
        ops->upload(memory_.back()->data(), values.data(), values.size() * sizeof(T));
        return static_cast<T*>(memory_.back()->data());
    }
    FloatRows rows(const std::vector<float>& values, std::int64_t columns) {
        return {up(values), static_cast<std::int64_t>(values.size()) / columns, columns};
    }
    HiddenRows hidden(const std::vector<float>& values, std::int64_t columns) {
        const auto count = static_cast<std::int64_t>(values.size()) / columns;
        if (ops->hidden_element() == Element::F32) return {up(values), count, columns};
        std::vector<std::uint16_t> halves(values.size());
        std::transform(values.begin(), values.end(), halves.begin(), half_from_float);
        return {up(halves), count, columns};
    }
    std::vector<float> down(FloatRows x) {
        std::vector<float> values(static_cast<std::size_t>(x.rows * x.columns));
        ops->download(values.data(), x.data, values.size() * sizeof(float));
        return values;
    }
    std::vector<float> down(HiddenRows x) {
        if (ops->hidden_element() == Element::F32)
            return down(FloatRows{static_cast<float*>(x.data), x.rows, x.columns});
        return down_halves(x.data, static_cast<std::size_t>(x.rows * x.columns));
    }
    std::vector<float> down_halves(const void* from, std::size_t count) {
        std::vector<std::uint16_t> halves(count);
        ops->download(halves.data(), from, count * sizeof(std::uint16_t));
        std::vector<float> values(count);
        std::transform(halves.begin(), halves.end(), values.begin(), float_from_half);
        return values;
    }

    // Downloads `heads` keys or values of `dim` numbers from a cache.
    std::vector<float> down_cached(KvElement element, const void* from, const void* scales, std::size_t heads,
                                   std::size_t dim) {
        if (element == KvElement::F16) return down_halves(from, heads * dim);
        if (element == KvElement::F32) return down_as<float>(from, heads * dim);
        std::vector<float> values;
        if (element == KvElement::I8) {
            const auto quants = down_as<std::int8_t>(from, heads * dim);
            const auto scale = down_as<float>(scales, heads);
            for (std::size_t i = 0; i < quants.size(); ++i)
                values.push_back(static_cast<float>(quants[i]) * scale[i / dim]);
            return values;
        }
        const std::size_t groups = (dim + 31) / 32;
        const auto bytes = down_as<std::uint8_t>(from, heads * groups * 16);
        const auto scale = down_halves(scales, heads * groups * 2);
        for (std::size_t head = 0; head < heads; ++head)
            for (std::size_t i = 0; i < dim; ++i) {
                const std::size_t group = head * groups + i / 32;
                const int byte = bytes[group * 16 + i % 16];
                const auto code = static_cast<float>(i % 32 < 16 ? byte % 16 : byte / 16);
                values.push_back(code * scale[2 * group] + scale[2 * group + 1]);
            }
        return values;
    }
    template <class T>
    std::vector<T> down_as(const void* from, std::size_t count) {
        std::vector<T> values(count);
        ops->download(values.data(), from, count * sizeof(T));
        return values;
    }
    // Allocates a layer's cache of zeros. tokens: counts each KV head separately.
    KvLayer empty_cache(KvElement element, std::size_t tokens, std::size_t head_dim) {
        const std::vector<std::uint8_t> numbers(tokens * kv_number_bytes(element, head_dim));
        if (!is_quantized(element)) return {up(numbers), up(numbers), element};
        const std::vector<std::uint8_t> scales(tokens * kv_scale_bytes(element, head_dim));
        return {up(numbers), up(numbers), element, up(scales), up(scales)};
    }

    std::unique_ptr<Ops> ops;

  private:
    std::vector<std::unique_ptr<OpsMemory>> memory_;
};

inline BatchView view(Side& side, const Batch& batch) {
    BatchView view;
    view.rows = static_cast<int>(batch.token.size());
    view.sequences = static_cast<int>(batch.row_begin.size()) - 1;
    view.max_pages = batch.max_pages;
    view.max_context = batch.max_pages * kv_page_tokens;
    for (std::size_t s = 0; s + 1 < batch.row_begin.size(); ++s) {
        const std::int32_t begin = batch.row_begin[s], end = batch.row_begin[s + 1];
        view.max_new = std::max(view.max_new, end - begin);
        if (end - begin > 1)
            view.prompt_pages += pages_for(batch.position[static_cast<std::size_t>(end) - 1] + 1);
    }
    view.token = side.up(batch.token);
    view.position = side.up(batch.position);
    view.sequence = side.up(batch.sequence);
    view.row_begin = side.up(batch.row_begin);
    view.page_table = side.up(batch.page_table);
    return view;
}

// The contents of one layer's KV cache.
struct CacheData {
    KvElement element = KvElement::F16;
    std::vector<std::uint16_t> keys, values;  // F16
    std::vector<std::int8_t> key_quants, value_quants;
    std::vector<float> key_scales, value_scales;    // I8
    std::vector<float> key_numbers, value_numbers;  // F32
    std::vector<std::uint8_t> key_codes, value_codes;
    std::vector<std::uint16_t> key_group_scales, value_group_scales;  // I4

    KvLayer up(Side& side) const {
        if (element == KvElement::F16) return {side.up(keys), side.up(values)};
        if (element == KvElement::F32) return {side.up(key_numbers), side.up(value_numbers), element};
        if (element == KvElement::I4)
            return {side.up(key_codes), side.up(value_codes), element, side.up(key_group_scales),
                    side.up(value_group_scales)};
        return {side.up(key_quants), side.up(value_quants), element, side.up(key_scales),
                side.up(value_scales)};
    }
};

class OpsTest : public testing::TestWithParam<OpsMaker> {
  protected:
    void SetUp() override {
        if (GetParam().name.starts_with("gpu") && device_count() == 0) GTEST_SKIP() << "no GPU";
    }

    std::vector<float> normals(std::int64_t count, float spread = 1, float mean = 0) {
        std::normal_distribution<float> normal(mean, spread);
        std::vector<float> values(static_cast<std::size_t>(count));
        for (float& value : values) value = float_from_half(half_from_float(normal(random_)));
        return values;
    }

    // Random keys and values of magnitude 1. tokens: counts each KV head separately.
    CacheData cache_data(KvElement element, std::int64_t tokens, std::int64_t head_dim) {
        CacheData data;
        data.element = element;
        const auto halves = [&] {
            const auto from = normals(tokens * head_dim);
            std::vector<std::uint16_t> to(from.size());
            std::transform(from.begin(), from.end(), to.begin(), half_from_float);
            return to;
        };
        const auto quants = [&] {
            std::uniform_int_distribution<int> each(-127, 127);
            std::vector<std::int8_t> to(static_cast<std::size_t>(tokens * head_dim));
            for (auto& q : to) q = static_cast<std::int8_t>(each(random_));
            return to;
        };
        const auto scales = [&] {
            auto to = normals(tokens);
            for (float& scale : to) scale = (1 + std::abs(scale)) / 127;
            return to;
        };
        const std::int64_t groups = tokens * static_cast<std::int64_t>((head_dim + 31) / 32);
        const auto codes = [&] {
            std::uniform_int_distribution<int> each(0, 255);
            std::vector<std::uint8_t> to(static_cast<std::size_t>(groups * 16));
            for (auto& byte : to) byte = static_cast<std::uint8_t>(each(random_));
            return to;
        };
        // Groups reach from about -1 to 1 or more.
        const auto group_scales = [&] {
            std::vector<std::uint16_t> to;
            for (const float number : normals(groups)) {
                to.push_back(half_from_float((2 + std::abs(number)) / 15));
                to.push_back(half_from_float(number / 4 - 1));
            }
            return to;
        };
        if (element == KvElement::F16)
            data.keys = halves(), data.values = halves();
        else if (element == KvElement::F32)
            data.key_numbers = normals(tokens * head_dim), data.value_numbers = normals(tokens * head_dim);
        else if (element == KvElement::I4)
            data.key_codes = codes(), data.value_codes = codes(), data.key_group_scales = group_scales(),
            data.value_group_scales = group_scales();
        else
            data.key_quants = quants(), data.value_quants = quants(), data.key_scales = scales(),
            data.value_scales = scales();
        return data;
    }

    // Random weights in a file's layout, with standard deviation 1 / sqrt(columns).
    std::vector<std::byte> weights(WeightFormat format, std::int64_t rows, std::int64_t columns) {
        const bool bf16 = format == WeightFormat::BF16;
        const WeightFormat made = bf16 ? WeightFormat::F32 : format;
        const auto blocks = static_cast<std::size_t>(rows * columns) / block_size(made);
        std::vector<std::byte> bytes =
            random_blocks(made, random_(), blocks, 1 / std::sqrt(static_cast<double>(columns)));
        if (!bf16) return bytes;
        std::vector<std::byte> upper(bytes.size() / 2);
        for (std::size_t i = 0; i < upper.size(); i += 2) std::memcpy(&upper[i], &bytes[2 * i + 2], 2);
        return upper;
    }

    static MatrixSource source(WeightFormat format, std::int64_t rows, std::int64_t columns,
                               const std::vector<std::byte>& bytes) {
        return {format,       rows, columns, row_bytes(format, static_cast<std::size_t>(columns)),
                bytes.data(), false};
    }

    // Runs `body` on the tested implementation and on the reference and compares what it returns. fp32: sums
    // of a few thousand products have a relative rounding error of about 1e-7, squared 1e-14, and more after
    // cancellation. fp16: results, and at most inputs and weights as well, are rounded by 2^-12 on average,
    // squared 6e-8, a few times.
    template <class Body>
    void expect_same(const Body& body, double fp32_bound = 1e-11, double fp16_bound = 1e-6) {
        Side tested(GetParam().make());
        Side reference(std::make_unique<ReferenceOps>());
        const double bound = tested.ops->hidden_element() == Element::F32 ? fp32_bound : fp16_bound;
        EXPECT_LT(nmse(body(tested), body(reference)), bound);
    }

    // The bound for products with weights of `format`. From AVX2 on, CpuOps rounds activations to 8 bits for
    // quantized weights: the rounding error is uniform within half a step, and a step is the largest of 32
    // normal numbers, about 2.1, divided by 127. That squared and divided by 12 is 2.4e-5. The sums of few
    // weights spread around it. Gated products, which multiply two and amplify errors of negative gates, have
    // four times as much.
    static double product_bound(WeightFormat format) { return has_integer_product(format) ? 1e-4 : 1e-11; }
    // The same for products that may be of integers (Ops::allow_integers), on GPUs that have them: rows of
    // weights and of activations are rounded to 8 bits. Rotated, they are like normal numbers, of which the
    // largest of a row is up to 4.5 standard deviations: a step is that divided by 127, and the square of two
    // errors 2 / 12 of its square.
    double integer_product_bound([[maybe_unused]] WeightFormat format,
                                 [[maybe_unused]] bool gated = false) const {
#if VOLTPILE_CUDA
        if (GetParam().name.starts_with("gpu") && least_integer_rows() &&
            gpu_format(format) != WeightFormat::F16)
            return (gated ? 4 : 1) * 2.1e-4;
#endif
        return 1e-6;
    }

    static double nmse(const std::vector<float>& got, const std::vector<float>& wanted) {
        if (got.size() != wanted.size()) return std::numeric_limits<double>::infinity();
        double error = 0, square = 0;
        for (std::size_t i = 0; i < got.size(); ++i) {
            const double difference = static_cast<double>(got[i]) - static_cast<double>(wanted[i]);
            error += difference * difference;
            square += static_cast<double>(wanted[i]) * static_cast<double>(wanted[i]);
        }
        return square > 0 ? error / square : std::numeric_limits<double>::infinity();
    }

    std::mt19937_64 random_{20260101};
};

}  // namespace voltpile::llm
