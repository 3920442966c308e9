// Measures the GPU operations at the shapes of Llama 3 8B, in CUDA graphs and with weights that exceed the
// cache, and a whole pass in which every layer has its own weights; those on experts at that of Qwen 3
// 30B-A3B.
#include "llm/bench_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "llm/model/kv_element_names.h"
#include "measure/gpu_rates.h"

using namespace voltpile;
using namespace voltpile::llm;

namespace {

struct Product {
    const char* name;
    int rows, columns;
    bool gated;
};
constexpr Product products[] = {{"qkv", qkv_width, hidden, false},
                                {"o", hidden, hidden, false},
                                {"gate+up", inner, hidden, true},
                                {"down", hidden, inner, false},
                                {"head", vocabulary, hidden, false}};

// only: the name of a format, or empty for all.
void bench_products(Bench& bench, double read_gbs, std::string_view only) {
    const std::vector<int> rows = {1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 160, 192, 256, 384, 512, 1024, 4096};
    for (const WeightFormat format :
         {WeightFormat::Q8_0, WeightFormat::Q5_K, WeightFormat::Q6_K, WeightFormat::Q4_K,
          WeightFormat::IQ4_XS, WeightFormat::IQ4_NL, WeightFormat::NF4, WeightFormat::UINT4,
          WeightFormat::F8_E4M3, WeightFormat::Q3_K, WeightFormat::Q2_K, WeightFormat::Q5_1,
          WeightFormat::IQ3_S, WeightFormat::IQ2_S, WeightFormat::F16}) {
        if (!only.empty() && name(format) != only) continue;
        std::vector<double> pass(rows.size());
        std::string header;
        for (const int r : rows) header += fmt::format("{:>16}", fmt::format("{} rows", r));
        fmt::print("\n{:<8}{} (us, % of read rate; above 64 rows TFLOP/s)\n", name(format), header);
        for (const Product& p : products) {
            const double weights = static_cast<double>(p.rows) * p.columns * (p.gated ? 2 : 1);
            const double bytes =
                weights / static_cast<double>(block_size(format)) * static_cast<double>(block_bytes(format));
            const int copies = std::max(2, static_cast<int>(3e8 / bytes));
            std::vector<std::unique_ptr<WeightMatrix>> first, second;
            for (int i = 0; i < copies; ++i) {
                first.push_back(bench.matrix(format, p.rows, p.columns));
                if (p.gated) second.push_back(bench.matrix(format, p.rows, p.columns));
                if (p.rows == vocabulary) continue;
                std::vector<WeightMatrix*> together{first.back().get()};
                if (p.gated) together.push_back(second.back().get());
                bench.ops->allow_integers(together, p.gated);
            }
            fmt::print("{:<8}", p.name);
            for (std::size_t i = 0; i < rows.size(); ++i) {
                const bool head = p.rows == vocabulary;
                const HiddenRows x = bench.halves(rows[i], p.columns);
                const HiddenRows out = head ? HiddenRows{} : bench.halves(rows[i], p.rows);
                const FloatRows logits = head ? bench.floats(1, rows[i] * p.rows) : FloatRows{};
                const double us = bench.us([&] {
                    for (int c = 0; c < copies; ++c) {
                        const auto at = static_cast<std::size_t>(c);
                        const WeightMatrix* one[] = {first[at].get()};
                        if (p.gated) {
                            bench.ops->gated_matmul(x, *first[at], *second[at], Activation::Silu, out);
                        } else if (head) {
                            bench.ops->matmul(x, *first[at], FloatRows{logits.data, rows[i], p.rows});
                        } else {
                            bench.ops->matmul(x, one, out);
                        }
                    }
                }) / copies;
                const double share = bytes / us / 1e3 / read_gbs * 100;
                fmt::print("{:>9.1f} {:>6}", us,
                           rows[i] > 64 ? fmt::format("{:.0f}T", 2 * weights * rows[i] / us / 1e6)
                                        : fmt::format("{:.0f}%", share));
                pass[i] += us * (head ? 1 : layers);
                bench.forget();
            }
            fmt::print("\n");
        }
        fmt::print("{:<8}", "tok/s");
        for (std::size_t i = 0; i < rows.size(); ++i) fmt::print("{:>16.0f}", rows[i] / pass[i] * 1e6);
        fmt::print("  (products alone)\n");
    }
}

void bench_attention(Bench& bench, double read_gbs) {
    fmt::print("\nattention  cache sequences new context       us   % of read rate, TFLOP/s; us with RoPE\n");
    struct Case {
        int count, fresh, context;
    };
    for (const Case c :
         {Case{1, 1, 128}, {1, 1, 512},     {1, 1, 2048},    {1, 1, 8192},  {1, 1, 32768},  {8, 1, 512},
          {8, 1, 2048},    {16, 1, 512},    {32, 1, 320},    {32, 1, 2048}, {64, 1, 320},   {128, 1, 320},
          {128, 1, 512},   {128, 1, 7168},  {256, 1, 320},   {1, 512, 512}, {1, 512, 8192}, {1, 16, 32768},
          {1, 32, 32768},  {1, 128, 32768}, {1, 2048, 2048}, {8, 64, 512}}) {
        for (const KvElement element : {KvElement::F16, KvElement::I8, KvElement::I4}) {
            const Sequences s = sequences(bench, c.count, c.fresh, c.context, element);
            const QkvSettings qkv_settings = settings(bench);
            const HiddenRows qkv = bench.halves(c.count * c.fresh, qkv_width),
                             out = bench.halves(c.count * c.fresh, hidden);
            const int times = 8;
            const double us = bench.us([&] {
                for (int i = 0; i < times; ++i)
                    bench.ops->attention(qkv, qkv_settings, s.view, s.cache, {0.088f}, out);
            }) / times;
            const double with_rope = bench.us([&] {
                for (int i = 0; i < times; ++i)
                    bench.ops->attend(qkv, qkv_settings, s.view, s.cache, {0.088f}, out);
            }) / times;
            const double bytes =
                2.0 * c.count * c.context * kv_heads * static_cast<double>(kv_head_bytes(element, head_dim));
            const double operations = 4.0 * c.count * c.fresh * (c.context - c.fresh / 2.0) * hidden;
            fmt::print("           {:>5} {:>9} {:>3} {:>7} {:>8.1f}   {:>3.0f}%  {:.0f}T {:>8.1f}\n",
                       name(element), c.count, c.fresh, c.context, us, bytes / us / 1e3 / read_gbs * 100,
                       operations / us / 1e6, with_rope);
            bench.forget();
        }
    }
}

void bench_small(Bench& bench) {
    fmt::print("\n{:<22}{:>10}{:>10}{:>10} us\n", "rows", 1, 8, 512);
    std::string norm, rope, greedy, drawn;
    const FloatRows weight = bench.floats(1, hidden);
    for (const int rows : {1, 8, 512}) {
        const Sequences s = sequences(bench, rows, 1, 128);
        const QkvSettings qkv_settings = settings(bench);
        const FloatRows x = bench.floats(rows, hidden), delta = bench.floats(rows, hidden);
        const HiddenRows out = bench.halves(rows, hidden), qkv = bench.halves(rows, qkv_width);
        const auto of = [&](const std::function<void()>& body) {
            return fmt::format("{:>10.2f}", bench.us([&] {
                for (int i = 0; i < 10; ++i) body();
            }) / 10);
        };
        norm += of([&] { bench.ops->add_rms_norm(x, delta, weight.data, 1e-5f, out, {}); });
        rope += of([&] { bench.ops->rope_and_store(qkv, qkv_settings, s.view, s.cache); });
        if (rows > 8) continue;
        const FloatRows logits = bench.floats(rows, vocabulary, 3);
        const auto n = static_cast<std::size_t>(rows);
        SamplingView v;
        v.top_k = bench.up(std::vector<std::int32_t>(n, 40));
        v.top_p = bench.up(std::vector<float>(n, 0.9f));
        v.min_p = bench.up(std::vector<float>(n, 0.05f));
        v.repetition_penalty = bench.up(std::vector<float>(n, 1));
        v.presence_penalty = v.frequency_penalty = bench.up(std::vector<float>(n, 0));
        v.seed = bench.up(std::vector<std::uint64_t>(n, 7));
        v.step = bench.up(std::vector<std::int32_t>(n, 3));
        v.history_begin = v.bias_begin = bench.up(std::vector<std::int32_t>(n + 1, 0));
        auto* tokens = bench.up(std::vector<std::int32_t>(n, 0));
        auto* log_probability = bench.up(std::vector<float>(n, 0));
        v.temperature = bench.up(std::vector<float>(n, 0));
        greedy += of([&] { bench.ops->sample(logits, v, tokens, log_probability); });
        v.temperature = bench.up(std::vector<float>(n, 0.8f));
        drawn += of([&] { bench.ops->sample(logits, v, tokens, log_probability); });
    }
    fmt::print("{:<22}{}\n{:<22}{}\n{:<22}{}\n{:<22}{}\n", "norm", norm, "rope", rope, "sample greedy",
               greedy, "sample k, p, min-p", drawn);
    bench.forget();
}

struct Layer {
    std::unique_ptr<WeightMatrix> q, k, v, o, gate, up, down;
};

void bench_pass(Bench& bench, WeightFormat format, WeightFormat better) {
    std::vector<Layer> model;
    double bytes = 0;
    const auto add = [&](WeightFormat f, int rows, int columns) {
        bytes += static_cast<double>(rows) * columns / static_cast<double>(block_size(f)) *
                 static_cast<double>(block_bytes(f));
        return bench.matrix(f, rows, columns);
    };
    for (int i = 0; i < layers; ++i) {
        const WeightFormat some = i % 2 == 0 ? better : format;
        model.push_back({add(format, hidden, hidden), add(format, kv_heads * head_dim, hidden),
                         add(some, kv_heads * head_dim, hidden), add(format, hidden, hidden),
                         add(format, inner, hidden), add(format, inner, hidden), add(some, hidden, inner)});
    }
    const auto head = add(better, vocabulary, hidden);
    fmt::print("\nwhole pass, {} with {}, {:.2f} GB: sequences x new at context\n", name(format),
               name(better), bytes / 1e9);
    struct Case {
        int count, fresh, context;
    };
    for (const Case c : {Case{1, 1, 256},
                         {1, 1, 2048},
                         {2, 1, 256},
                         {4, 1, 256},
                         {8, 1, 256},
                         {16, 1, 256},
                         {32, 1, 256},
                         {64, 1, 256},
                         {96, 1, 256},
                         {128, 1, 256},
                         {192, 1, 256},
                         {256, 1, 256},
                         {1, 512, 512},
                         {1, 2048, 2048}}) {
        const int rows = c.count * c.fresh;
        const Sequences s = sequences(bench, c.count, c.fresh, c.context);
        const QkvSettings qkv_settings = settings(bench);
        const FloatRows x = bench.floats(rows, hidden), norm = bench.floats(1, hidden);
        const FloatRows last = bench.floats(c.count, hidden), logits = bench.floats(c.count, vocabulary);
        const HiddenRows h = bench.halves(rows, hidden), qkv = bench.halves(rows, qkv_width),
                         wide = bench.halves(rows, inner);
        const HiddenRows h_last = bench.halves(c.count, hidden);
        SamplingView greedy;
        greedy.temperature = bench.up(std::vector<float>(static_cast<std::size_t>(c.count), 0));
        auto* tokens = bench.up(std::vector<std::int32_t>(static_cast<std::size_t>(c.count), 0));
        const double us = bench.us([&] {
            bench.ops->embed(*head, s.view, 1, x);
            for (const Layer& l : model) {
                const WeightMatrix* three[] = {l.q.get(), l.k.get(), l.v.get()};
                const RmsNorm normed{x, norm.data, 1e-5f, {}, h};
                bench.ops->norm_matmul(normed, three, qkv);
                bench.ops->attend(qkv, qkv_settings, s.view, s.cache, {0.088f}, h);
                bench.ops->add_matmul(h, *l.o, nullptr, x);
                bench.ops->norm_gated_matmul(normed, *l.gate, *l.up, Activation::Silu, wide);
                bench.ops->add_matmul(wide, *l.down, nullptr, x);
            }
            bench.ops->gather_float_rows(x, s.view, last);
            bench.ops->add_rms_norm(last, {}, norm.data, 1e-5f, h_last, {});
            bench.ops->matmul(h_last, *head, logits);
            bench.ops->sample(logits, greedy, tokens, nullptr);
        });
        fmt::print("{:>4} x {:>4} at {:>5}: {:>9.0f} us  {:>8.0f} tok/s  {:>5.0f} GB/s of weights\n", c.count,
                   c.fresh, c.context, us, rows / us * 1e6, bytes / us / 1e3);
        bench.forget();
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        // bench_llm_ops [all | pass | small | attention | latent | products | experts] [batch-invariant |
        // FORMAT]
        const std::string_view option = argc > 2 ? argv[2] : "";
        Bench bench(option == "batch-invariant");
        // The operations mostly read, so the reference is the read rate; a copy has a lower rate.
        const double rate = gpu_read_rate(0, std::int64_t{1} << 30, bench.ops->stream()) / 1e9;
        fmt::print("{}: reads {:.0f} GB/s\n", bench.ops->describe(), rate);
        const std::string what = argc > 1 ? argv[1] : "all";
        if (what == "all" || what == "pass") {
            bench_pass(bench, WeightFormat::Q8_0, WeightFormat::Q8_0);
            bench_pass(bench, WeightFormat::Q5_K, WeightFormat::Q6_K);
        }
        if (what == "all" || what == "small") bench_small(bench);
        if (what == "all" || what == "attention") bench_attention(bench, rate);
        if (what == "all" || what == "latent") bench_latent(bench, rate);
        if (what == "all" || what == "products")
            bench_products(bench, rate, option == "batch-invariant" ? "" : option);
        if (what == "all" || what == "experts") bench_experts(bench, rate);
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
