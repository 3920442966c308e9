// The operations on mixtures of experts at the shape of Qwen 3 30B-A3B.
#include <fmt/format.h>

#include <numeric>

#include "llm/bench_ops.h"
#include "llm/ops/routing.h"

namespace voltpile::llm {
namespace {

constexpr int experts = 128, used = 8, expert_hidden = 2048, expert_inner = 768;

std::unique_ptr<ExpertWeights> expert_matrices(Bench& bench, WeightFormat format, int rows, int columns) {
    std::vector<std::unique_ptr<WeightMatrix>> matrices;
    for (int e = 0; e < experts; ++e) matrices.push_back(bench.matrix(format, rows, columns));
    return bench.ops->join_experts(std::move(matrices));
}

double expert_bytes(WeightFormat format) {
    return static_cast<double>(expert_hidden) * expert_inner / static_cast<double>(block_size(format)) *
           static_cast<double>(block_bytes(format));
}

struct Routed {
    HiddenRows x, gated;
    FloatRows out;
    RouterSettings settings;
    BatchView batch;
    Routing routing;
    int experts_used = 0;
};
Routed routed(Bench& bench, int rows) {
    Routed r;
    r.settings.weight = bench.floats(experts, expert_hidden, 0.1F).data;
    r.settings.experts = experts;
    r.settings.used = used;
    r.settings.normalized = true;
    r.x = bench.halves(rows, expert_hidden);
    r.gated = bench.halves(rows * used, expert_inner);
    r.out = bench.floats(rows, expert_hidden);
    std::vector<std::int32_t> sequence(static_cast<std::size_t>(rows));
    std::iota(sequence.begin(), sequence.end(), 0);
    r.batch.rows = rows;
    r.batch.sequence = bench.up(sequence);
    const std::size_t bytes = routing_bytes(rows, experts, used);
    r.routing = routing_in(bench.up(std::vector<float>(bytes / sizeof(float))), rows, experts, used, false);
    bench.ops->route(r.x, r.settings, r.batch, r.routing, nullptr);
    std::vector<std::int32_t> begin(experts + 1);
    bench.ops->download(begin.data(), r.routing.begin, begin.size() * sizeof(begin[0]));
    for (std::size_t e = 0; e < experts; ++e) r.experts_used += begin[e + 1] > begin[e] ? 1 : 0;
    return r;
}

}  // namespace

void bench_experts(Bench& bench, double read_gbs) {
    // As many layers as together exceed the cache even if one row uses them.
    constexpr int copies = 3;
    for (const WeightFormat format : {WeightFormat::Q4_K, WeightFormat::MXFP4, WeightFormat::Q6_K,
                                      WeightFormat::Q8_0, WeightFormat::IQ4_XS, WeightFormat::Q3_K,
                                      WeightFormat::Q2_K, WeightFormat::IQ3_S, WeightFormat::IQ2_S}) {
        std::vector<std::unique_ptr<ExpertWeights>> gate, up, down;
        for (int i = 0; i < copies; ++i) {
            gate.push_back(expert_matrices(bench, format, expert_inner, expert_hidden));
            up.push_back(expert_matrices(bench, format, expert_inner, expert_hidden));
            down.push_back(expert_matrices(bench, format, expert_hidden, expert_inner));
        }
        fmt::print("{}: rows, experts used, router, gated products, sums (us, % of read rate)\n",
                   name(format));
        for (const int rows : {1, 2, 4, 8, 16, 32, 64, 128, 512, 4096}) {
            const Routed r = routed(bench, rows);
            const double bytes = r.experts_used * expert_bytes(format);
            const auto of = [&](const std::function<void(std::size_t)>& body) {
                return bench.us([&] {
                    for (std::size_t c = 0; c < copies; ++c) body(c);
                }) / copies;
            };
            const double router =
                of([&](std::size_t) { bench.ops->route(r.x, r.settings, r.batch, r.routing, nullptr); });
            const double gated = of([&](std::size_t c) {
                bench.ops->gated_experts(r.x, *gate[c], *up[c], Activation::Silu, r.routing, nullptr,
                                         r.gated);
            });
            const double sum =
                of([&](std::size_t c) { bench.ops->sum_experts(r.gated, *down[c], r.routing, r.out); });
            fmt::print("{:>5} {:>4} {:>7.1f} {:>9.1f} {:>3.0f}% {:>9.1f} {:>3.0f}%\n", rows, r.experts_used,
                       router, gated, 2 * bytes / gated / 1e3 / read_gbs * 100, sum,
                       bytes / sum / 1e3 / read_gbs * 100);
            bench.forget();
        }
    }
}

}  // namespace voltpile::llm
