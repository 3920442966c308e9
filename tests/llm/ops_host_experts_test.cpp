// Experts in host memory beside those of the device and ReferenceOps.
#include <array>
#include <numeric>
#include <utility>

#include "llm/ops/cpu/core_experts.h"
#include "llm/ops_experts_fixture.h"

namespace voltpile::llm {
namespace {

class OpsHostExpertsTest : public ExpertsFixture {
  protected:
    static ExpertLayer layer_of(const Loaded& loaded, const Mixture& m) {
        return {loaded.gate.get(), loaded.up.get(), loaded.down.get(), m.activation};
    }
    // As ExpertsFixture::run(), with experts in host memory. The shared expert writes its output meanwhile.
    static std::vector<float> run_on_host(Side& side, const Mixture& m, const std::vector<float>& x,
                                          const std::vector<std::int32_t>& sequence,
                                          const std::vector<float>& shared, std::int64_t streamed_rows = 0) {
        const auto rows = static_cast<std::int64_t>(sequence.size());
        const auto host = side.ops->make_host_experts({rows, m.hidden, m.used, streamed_rows});
        const Loaded loaded = load(side, m, !shared.empty(), host.get());
        host->prepare(layer_of(loaded, m));
        const Routing routing =
            make_routing(side, rows, loaded.settings, static_cast<int>(loaded.gate->count()));
        const HiddenRows rows_of_x = side.hidden(x, m.hidden);
        side.ops->route(rows_of_x, loaded.settings, batch_of(side, sequence), routing, nullptr);
        const FloatRows out =
            side.rows(std::vector<float>(static_cast<std::size_t>(rows * m.hidden), 7), m.hidden);
        std::function<void()> meanwhile;
        if (!shared.empty())
            meanwhile = [&] { side.ops->upload(out.data, shared.data(), shared.size() * sizeof(float)); };
        const HiddenRows gated =
            side.hidden(std::vector<float>(static_cast<std::size_t>(rows * m.used * m.ffn)), m.ffn);
        host->sum(rows_of_x, layer_of(loaded, m), batch_of(side, sequence), routing, gated, out, meanwhile);
        auto sums = side.down(out);
        host->check();
        return sums;
    }
    // Cores round activations to 8 bits for quantized weights, beside a GPU, too.
    static double bound(WeightFormat format) { return 4 * product_bound(format) + 1e-10; }
};
VOLTPILE_FOR_ALL_OPS(OpsHostExpertsTest);

TEST_P(OpsHostExpertsTest, MultipliesFormatsAndManyRows) {
    for (const WeightFormat format : {WeightFormat::F16, WeightFormat::Q8_0, WeightFormat::Q4_K,
                                      WeightFormat::Q6_K, WeightFormat::MXFP4, WeightFormat::IQ4_XS}) {
        const Mixture m = mixture(format, 5, 2, 256, 256);
        for (const std::int64_t rows : {1, 2, 5, 40}) {
            for (const bool shared : {false, true}) {
                SCOPED_TRACE(std::string(name(format)) + ", " + std::to_string(rows) + " rows");
                const auto x = normals(rows * m.hidden);
                const std::vector<float> before = shared ? normals(rows * m.hidden) : std::vector<float>();
                std::vector<std::int32_t> sequence(static_cast<std::size_t>(rows), 0);
                if (rows == 5) sequence[3] = sequence[4] = -1;
                Side tested(GetParam().make()), reference(std::make_unique<ReferenceOps>());
                EXPECT_LT(
                    nmse(run_on_host(tested, m, x, sequence, before), run(reference, m, x, sequence, before)),
                    bound(format));
            }
        }
    }
}

// Biases, a clamped gate, and ranks with some experts each, whose outputs add up.
TEST_P(OpsHostExpertsTest, RanksWithWholeExpertsAddUp) {
    Mixture m = mixture(WeightFormat::MXFP4, 24, 4, 160, 96);
    m.activation = Activation::ClampedSwiglu;
    m.router_bias = normals(m.experts, 2);
    m.gate_bias = normals(m.experts * m.ffn, 4);
    m.up_bias = normals(m.experts * m.ffn, 4);
    m.down_bias = normals(m.experts * m.hidden, 2);
    for (const std::int64_t rows : {1, 4, 33}) {
        SCOPED_TRACE(std::to_string(rows) + " rows");
        Side tested(GetParam().make()), reference(std::make_unique<ReferenceOps>());
        const auto x = normals(rows * m.hidden), shared = normals(rows * m.hidden);
        std::vector<std::int32_t> sequence(static_cast<std::size_t>(rows), 0);
        if (rows > 2) sequence[1] = -1;
        const auto wanted = run(reference, m, x, sequence, shared);
        std::vector<float> sum(wanted.size());
        for (const auto& [begin, end] : {std::pair{0, 1}, {1, 11}, {11, 24}}) {
            const auto of_rank = run_on_host(tested, part(m, begin, end), x, sequence,
                                             begin == 0 ? shared : std::vector<float>());
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += of_rank[i];
        }
        EXPECT_LT(nmse(sum, wanted), bound(m.format));
    }
}

TEST_P(OpsHostExpertsTest, AgreeWithExpertsOnTheDevice) {
    const Mixture m = mixture(WeightFormat::Q4_K, 32, 4, 256, 512);
    for (const std::int64_t rows : {1, 7, 9, 150}) {
        SCOPED_TRACE(std::to_string(rows) + " rows");
        Side side(GetParam().make());
        const auto x = normals(rows * m.hidden), shared = normals(rows * m.hidden);
        const std::vector<std::int32_t> sequence(static_cast<std::size_t>(rows), 0);
        const auto host = run_on_host(side, m, x, sequence, shared);
        const auto device = run(side, m, x, sequence, shared);
        if (side.ops->hidden_element() == Element::F32)
            EXPECT_EQ(host, device);  // the same products in the same order
        else
            EXPECT_LT(nmse(host, device), bound(m.format) + 1e-6);
    }
}

// Passes of many rows compute on the device, with the bits of experts that stay there.
TEST_P(OpsHostExpertsTest, StreamedExpertsAreThoseOfTheDevice) {
    for (const WeightFormat format :
         {WeightFormat::MXFP4, WeightFormat::Q4_K, WeightFormat::Q6_K, WeightFormat::Q5_0, WeightFormat::Q4_1,
          WeightFormat::IQ2_XS, WeightFormat::IQ3_XXS, WeightFormat::NF4, WeightFormat::UINT4,
          WeightFormat::F8_E4M3, WeightFormat::F16, WeightFormat::BF16}) {
        SCOPED_TRACE(std::string(name(format)));
        Mixture m = mixture(format, 24, 3, 256, 512);
        m.down_bias = normals(m.experts * m.hidden);
        const std::int64_t rows = 40;
        Side side(GetParam().make());
        const auto x = normals(rows * m.hidden), shared = normals(rows * m.hidden);
        const std::vector<std::int32_t> sequence(static_cast<std::size_t>(rows), 0);
        const auto device = run(side, m, x, sequence, shared);
        const auto streamed = run_on_host(side, m, x, sequence, shared, rows);
        if (GetParam().name == "gpu_batch_invariant")  // cores compute all of its passes
            EXPECT_LT(nmse(streamed, device), bound(format) + 1e-6);
        else
            EXPECT_EQ(streamed, device);
    }
}

// Layers of other shapes and formats use the same memory after each other.
TEST_P(OpsHostExpertsTest, StreamsLayersOneAfterTheOther) {
    Side side(GetParam().make());
    constexpr std::int64_t rows = 20, hidden = 256;
    const auto host = side.ops->make_host_experts({rows, hidden, 2, 1});
    const auto x = normals(rows * hidden);
    const std::vector<std::int32_t> sequence(static_cast<std::size_t>(rows), 0);
    for (const WeightFormat format : {WeightFormat::Q8_0, WeightFormat::MXFP4, WeightFormat::Q8_0}) {
        const Mixture m = mixture(format, 6, 2, hidden, format == WeightFormat::MXFP4 ? 96 : 160);
        const Loaded loaded = load(side, m, false, host.get());
        host->prepare(layer_of(loaded, m));
        const Routing routing = make_routing(side, rows, loaded.settings);
        const HiddenRows rows_of_x = side.hidden(x, hidden);
        side.ops->route(rows_of_x, loaded.settings, batch_of(side, sequence), routing, nullptr);
        const HiddenRows gated =
            side.hidden(std::vector<float>(static_cast<std::size_t>(rows * m.used * m.ffn)), m.ffn);
        const FloatRows out = side.rows(std::vector<float>(static_cast<std::size_t>(rows * hidden)), hidden);
        host->sum(rows_of_x, layer_of(loaded, m), batch_of(side, sequence), routing, gated, out, {});
        Side reference(std::make_unique<ReferenceOps>());
        EXPECT_LT(nmse(side.down(out), run(reference, m, x, sequence, {})), bound(format) + 1e-6);
    }
}

// Nothing that a recording holds depends on the rows or their experts, nor does the shared expert that it
// runs beside them.
TEST_P(OpsHostExpertsTest, ReplaysWithOtherExperts) {
    const Mixture m = mixture(WeightFormat::Q4_K, 16, 2, 256, 256);
    for (const std::int64_t rows : {2, 40}) {
        Side side(GetParam().make());
        const auto host = side.ops->make_host_experts({rows, m.hidden, m.used});
        const Loaded loaded = load(side, m, true, host.get());
        host->prepare(layer_of(loaded, m));
        const auto dense = side.ops->load_matrix(
            source(WeightFormat::F16, m.hidden, m.hidden, weights(WeightFormat::F16, m.hidden, m.hidden)));
        const Routing routing = make_routing(side, rows, loaded.settings);
        const BatchView batch = batch_of(side, std::vector<std::int32_t>(static_cast<std::size_t>(rows), 0));
        const HiddenRows x = side.hidden(normals(rows * m.hidden), m.hidden);
        const FloatRows out =
            side.rows(std::vector<float>(static_cast<std::size_t>(rows * m.hidden)), m.hidden);
        const HiddenRows gated =
            side.hidden(std::vector<float>(static_cast<std::size_t>(rows * m.used * m.ffn)), m.ffn);
        const auto enqueue = [&] {
            side.ops->route(x, loaded.settings, batch, routing, nullptr);
            // Two layers after each other share all memory.
            for (int layer = 0; layer < 2; ++layer)
                host->sum(x, layer_of(loaded, m), batch, routing, gated, out,
                          [&] { side.ops->matmul(x, *dense, out); });
        };
        enqueue();
        const auto recording = side.ops->record(enqueue);
        for (int i = 0; i < 3; ++i) {
            const auto numbers = normals(rows * m.hidden);
            const HiddenRows other = side.hidden(numbers, m.hidden);
            std::vector<std::byte> bytes(numbers.size() * bytes_of(side.ops->hidden_element()));
            side.ops->download(bytes.data(), other.data, bytes.size());
            side.ops->upload(x.data, bytes.data(), bytes.size());
            recording->replay();
            const auto replayed = side.down(out);
            enqueue();
            EXPECT_EQ(side.down(out), replayed) << rows << ' ' << i;
        }
        host->check();
    }
}

// What cores compute for a GPU: fp16 rows, and experts that the GPU has chosen.
TEST_P(OpsHostExpertsTest, CoresComputeRoutedRows) {
    if (GetParam().name.starts_with("gpu")) GTEST_SKIP() << "cores alone";
    constexpr std::int64_t hidden = 128, ffn = 96;
    constexpr int experts = 6, used = 3;
    for (const WeightFormat format : {WeightFormat::MXFP4, WeightFormat::F16}) {
        Mixture m = mixture(format, experts, used, hidden, ffn);
        m.up_bias = normals(experts * ffn);
        m.gate_bias = normals(experts * ffn);
        m.down_bias = normals(experts * hidden);
        CoreExperts cores(std::vector<int>(3, -1));
        const auto loaded_on = [&](Ops& ops) {
            return Loaded{{},
                          load(ops, m, ffn, hidden, m.gate, m.gate_bias),
                          load(ops, m, ffn, hidden, m.up, m.up_bias),
                          load(ops, m, hidden, ffn, m.down, m.down_bias)};
        };
        const Loaded loaded = loaded_on(cores.ops());
        Side reference(std::make_unique<ReferenceOps>());
        const Loaded of_reference = loaded_on(*reference.ops);
        // Two adapters, of which each leaves some experts as they are.
        const auto factors_of = [&](std::int64_t columns, std::vector<std::int64_t> outputs) {
            AdapterSource made;
            made.columns = columns;
            made.rows = std::move(outputs);
            for (int i = 0; i < 2 * experts; ++i) {
                const int rank = i % 4;
                const std::int64_t all = std::accumulate(made.rows.begin(), made.rows.end(), std::int64_t{0});
                made.adapters.push_back(
                    {rank, normals(std::ssize(made.rows) * rank * columns, 0.1F), normals(all * rank)});
            }
            return made;
        };
        const AdapterSource of_gate_up = factors_of(hidden, {ffn, ffn}), of_down = factors_of(ffn, {hidden});
        const auto load_on = [&](Ops& ops) {
            return std::array{ops.load_adapters(of_gate_up), ops.load_adapters(of_down)};
        };
        const auto on_cores = load_on(cores.ops()), on_reference = load_on(*reference.ops);
        for (const std::int64_t rows : {1, 12}) {
            const auto x = normals(rows * hidden);
            std::vector<std::uint16_t> halves(x.size());
            std::ranges::transform(x, halves.begin(), half_from_float);
            std::vector<std::int32_t> expert;
            std::vector<float> weight;
            for (std::int32_t i = 0; i < rows * used; ++i) {
                expert.push_back(i % 7 == 3 ? -1 : i % experts);
                weight.push_back(0.1F * static_cast<float>(1 + i % 5));
            }
            const std::size_t bytes = routing_bytes(rows, experts, used);
            const Routing routing = routing_in(reference.up(std::vector<float>(bytes / sizeof(float))), rows,
                                               experts, used, false);
            std::ranges::copy(expert, routing.expert);
            std::ranges::copy(weight, routing.weight);
            sort_by_expert(rows, routing);
            const HiddenRows gated =
                reference.hidden(std::vector<float>(static_cast<std::size_t>(rows * used * ffn)), ffn);
            const FloatRows added =
                reference.rows(std::vector<float>(static_cast<std::size_t>(rows * used * 2 * ffn)), 2 * ffn);
            std::vector<std::int32_t> adapter, none(static_cast<std::size_t>(rows), -1);
            for (std::int32_t r = 0; r < rows; ++r) adapter.push_back((r + 1) % 3 - 1);
            // Without adapters; with those of gate and up, of down, and of all.
            for (const auto& [gate_up, down] :
                 {std::pair{false, false}, {true, false}, {false, true}, {true, true}})
                for (const std::int32_t* of_rows :
                     {adapter.data(), none.data(), static_cast<std::int32_t*>(nullptr)}) {
                    const auto layer_with = [&](const Loaded& from, const auto& factors) {
                        ExpertLayer layer = layer_of(from, m);
                        if (gate_up) layer.gate_up_adapters = factors[0].get();
                        if (down) layer.down_adapters = factors[1].get();
                        return layer;
                    };
                    std::vector<float> out(static_cast<std::size_t>(rows * hidden), 7);
                    cores.sum({halves.data(), expert.data(), weight.data(), of_rows, rows, hidden, used},
                              layer_with(loaded, on_cores), out.data());
                    BatchView batch;
                    batch.rows = static_cast<int>(rows);
                    batch.adapter = of_rows;
                    const FloatRows wanted = reference.rows(std::vector<float>(out.size()), hidden);
                    run_experts(*reference.ops, reference.hidden(x, hidden),
                                layer_with(of_reference, on_reference), batch, routing, added.data, gated,
                                wanted);
                    EXPECT_LT(nmse(out, reference.down(wanted)), bound(format)) << rows << gate_up << down;
                }
        }
    }
}

}  // namespace
}  // namespace voltpile::llm
