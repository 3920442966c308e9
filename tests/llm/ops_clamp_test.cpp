// Ops with a clamp: numbers beyond fp16's range become its largest number, and NaN stays NaN.
#include <limits>

#include "llm/ops_fixture.h"

namespace voltpile::llm {
namespace {

constexpr float largest_half = 65504;  // IEEE half precision: (2 - 2^-10) * 2^15
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

class OpsClampTest : public OpsTest {
  protected:
    // Returns `value` as an activation of these Ops.
    static float as_hidden(const Side& side, float value, bool clamp) {
        if (side.ops->hidden_element() == Element::F32 || !(std::abs(value) >= largest_half)) return value;
        return std::copysign(clamp ? largest_half : std::numeric_limits<float>::infinity(), value);
    }
    // share: the relative rounding error.
    static void expect_number(float got, float wanted, float share) {
        if (std::isnan(wanted))
            EXPECT_TRUE(std::isnan(got)) << got;
        else if (std::isinf(wanted))
            EXPECT_EQ(got, wanted);
        else
            EXPECT_NEAR(got, wanted, share * std::abs(wanted));
    }
};
VOLTPILE_FOR_ALL_OPS(OpsClampTest);

TEST_P(OpsClampTest, ClampsNorms) {
    for (const std::int64_t columns : {7, 64}) {
        for (const bool clamp : {false, true}) {
            Side side(GetParam().make(clamp));
            // The mean square of ones is 1, so the norm is the weight itself.
            std::vector<float> weight(static_cast<std::size_t>(columns), 3);
            weight[0] = 1e5F, weight[1] = -1e5F, weight[5] = 7e4F;
            std::vector<float> x(static_cast<std::size_t>(2 * columns), 1);
            x.back() = not_a_number;
            const HiddenRows out = side.hidden(x, columns);
            side.ops->add_rms_norm(side.rows(x, columns), {}, side.up(weight), 0, out, {4, 1});
            const auto got = side.down(out);
            for (std::size_t c = 0; c < weight.size(); ++c) {
                expect_number(got[c], as_hidden(side, weight[c], clamp), 0);
                EXPECT_TRUE(std::isnan(got[weight.size() + c]));
            }
            EXPECT_EQ(side.ops->take_sentinel().row, 1);
        }
    }
}

// Returns rows of equal weights, which Q8_0 represents exactly, too.
std::vector<std::byte> equal_weights(WeightFormat format, std::int64_t columns,
                                     const std::vector<float>& weight) {
    std::vector<std::byte> bytes;
    for (const float each : weight) {
        const std::uint16_t half = half_from_float(each);
        const auto* begin = reinterpret_cast<const std::byte*>(&half);
        for (std::int64_t c = 0; c < columns; ++c) {
            if (format == WeightFormat::F16 || c % 32 == 0) bytes.insert(bytes.end(), begin, begin + 2);
            if (format == WeightFormat::Q8_0) bytes.push_back(std::byte{1});
        }
    }
    return bytes;
}

// Numbers of rows for each algorithm of a GPU.
TEST_P(OpsClampTest, ClampsGatedProducts) {
    const std::int64_t columns = 64, outputs = 37;
    const WeightFormat f16 = WeightFormat::F16, q8_0 = WeightFormat::Q8_0;
    std::vector<float> gate, up;
    for (std::int64_t j = 0; j < outputs; ++j) {
        gate.push_back(j % 3 == 2 ? 0.25F : 4.6875F);  // times 64: 16, or 300
        up.push_back(j % 3 == 2 ? 0.25F : j % 3 == 1 ? -4.6875F : 4.6875F);
    }
    for (const auto& [gate_format, up_format] :
         {std::pair{f16, f16}, std::pair{q8_0, q8_0}, std::pair{f16, q8_0}}) {
        const auto gate_bytes = equal_weights(gate_format, columns, gate);
        const auto up_bytes = equal_weights(up_format, columns, up);
        for (const std::int64_t rows : {1, 2, 6, 7, 20, 33, 64, 70, 200}) {
            for (const bool clamp : {false, true}) {
                SCOPED_TRACE(std::to_string(rows) + " rows, clamp " + std::to_string(clamp));
                Side side(GetParam().make(clamp));
                std::vector<float> x(static_cast<std::size_t>(rows * columns), 1);
                if (rows > 1) x.back() = not_a_number;
                const auto g = side.ops->load_matrix(source(gate_format, outputs, columns, gate_bytes));
                const auto u = side.ops->load_matrix(source(up_format, outputs, columns, up_bytes));
                const HiddenRows out =
                    side.hidden(std::vector<float>(static_cast<std::size_t>(rows * outputs)), outputs);
                side.ops->gated_matmul(side.hidden(x, columns), *g, *u, Activation::Silu, out);
                const auto got = side.down(out);
                for (std::int64_t i = 0; i < rows * outputs; ++i) {
                    const std::int64_t row = i / outputs, j = i % outputs;
                    const float product = j % 3 == 2 ? 256 : j % 3 == 1 ? -9e4F : 9e4F;
                    const float wanted =
                        rows > 1 && row == rows - 1 ? not_a_number : as_hidden(side, product, clamp);
                    // 16-bit activations and a result in fp16: relative error 2^-11.
                    expect_number(got[static_cast<std::size_t>(i)], wanted, 1e-3F);
                }
            }
        }
    }
}

// Rows of one token each: too large because of the bias, too large before it, and NaN.
TEST_P(OpsClampTest, ClampsQueriesKeysAndValues) {
    const int dim = 16;
    const std::size_t head = dim, columns = 4 * head;
    const std::vector<float> come{4e4F, -1e5F, not_a_number};
    for (const KvElement element : {KvElement::F16, KvElement::I8, KvElement::I4}) {
        for (const bool clamp : {false, true}) {
            for (std::size_t row = 0; row < come.size(); ++row) {
                SCOPED_TRACE(std::to_string(row) + ", clamp " + std::to_string(clamp));
                Side side(GetParam().make(clamp));
                QkvSettings settings;
                settings.heads = 2;
                settings.kv_heads = 1;
                settings.head_dim = dim;
                const float* bias = side.up(std::vector<float>(2 * head, row == 0 ? 4e4F : 0));
                settings.q_bias = settings.k_bias = settings.v_bias = bias;
                Batch batch;
                batch.token = batch.position = batch.sequence = batch.page_table = {0};
                batch.row_begin = {0, 1};
                batch.max_pages = 1;
                const KvLayer cache = cache_data(element, kv_page_tokens, dim).up(side);
                const HiddenRows qkv = side.hidden(std::vector<float>(columns, come[row]), columns);
                side.ops->rope_and_store(qkv, settings, view(side, batch), cache);

                const float sum = row == 0 ? 8e4F : come[row];
                const float query = side.down(qkv).front();
                // The rotation of quantized caches makes the first of 16 equal numbers 16 / sqrt(16) times as
                // large.
                const float turned = element == KvElement::F16 ? sum : 4 * sum;
                expect_number(query, as_hidden(side, turned, clamp), 0);
                for (const auto& [from, scales] :
                     {std::pair{cache.keys, cache.key_scales}, std::pair{cache.values, cache.value_scales}}) {
                    const float stored = side.down_cached(element, from, scales, 1, head).front();
                    if (clamp) {
                        // int4: 65504 / 15 = 4366.9, rounded down to 4364 in fp16, times 15; the least number
                        // is exact. int8: the rounding error of the scale.
                        const float largest = element == KvElement::I4 && sum > 0 ? 65460 : largest_half;
                        expect_number(stored, std::isnan(sum) ? not_a_number : std::copysign(largest, sum),
                                      1e-6F);
                    } else if (element == KvElement::F16) {
                        expect_number(stored, sum * std::numeric_limits<float>::infinity(), 0);
                    } else if (element == KvElement::I4) {
                        expect_number(stored, not_a_number, 0);
                    }
                }
            }
        }
    }
}

}  // namespace
}  // namespace voltpile::llm
