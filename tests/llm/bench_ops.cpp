// Times of the GPU's operations at the shapes of Llama 3 8B, inside CUDA graphs, with weights that do not
// stay in the cache; and of a whole pass with every layer's own weights.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "device/check.h"
#include "llm/model/synthetic_blocks.h"
#include "llm/ops/cuda_ops.h"

using namespace voltpile;
using namespace voltpile::llm;

namespace {

constexpr int hidden = 4096, inner = 14336, heads = 32, kv_heads = 8, head_dim = 128, vocabulary = 128256,
              layers = 32;
constexpr int qkv_width = (heads + 2 * kv_heads) * head_dim;

class Bench {
  public:
    Bench() : ops(make_cuda_ops(0)) {}

    // Of one run of body, best of several replays.
    double us(const std::function<void()>& body) {
        body();
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t exec = nullptr;
        cudaStream_t stream = ops->stream().get();
        cuda_check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing");
        body();
        cuda_check(cudaStreamEndCapture(stream, &graph), "capturing");
        cuda_check(cudaGraphInstantiate(&exec, graph, 0), "instantiating");
        double best = 1e30;
        for (int i = 0; i < 8; ++i) {
            Event begin, end;
            begin.record(ops->stream());
            cuda_check(cudaGraphLaunch(exec, stream), "launching");
            end.record(ops->stream());
            end.synchronize();
            if (i >= 2) best = std::min(best, end.seconds_since(begin) * 1e6);
        }
        cudaGraphExecDestroy(exec);
        cudaGraphDestroy(graph);
        return best;
    }

    std::unique_ptr<WeightMatrix> matrix(WeightFormat format, int rows, int columns) {
        auto& blocks = blocks_[format];
        const std::size_t bytes =
            static_cast<std::size_t>(rows) * row_bytes(format, static_cast<std::size_t>(columns));
        if (blocks.size() < bytes) {
            // A piece of random numbers, again and again.
            const std::size_t piece = 4096 * block_bytes(format) * 16;
            if (blocks.empty()) {
                blocks.resize(piece);
                make_blocks(format, 1, 0, 4096 * 16, 0.02, blocks.data());
            }
            const std::size_t have = blocks.size();
            blocks.resize((bytes + piece - 1) / piece * piece);
            for (std::size_t at = have; at < blocks.size(); at += piece)
                std::memcpy(blocks.data() + at, blocks.data(), piece);
        }
        return ops->load_matrix({format, rows, columns, row_bytes(format, static_cast<std::size_t>(columns)),
                                 blocks.data(), false});
    }
    template <class T>
    T* up(const std::vector<T>& values) {
        memory_.push_back(ops->allocate(values.size() * sizeof(T)));
        ops->upload(memory_.back()->data(), values.data(), values.size() * sizeof(T));
        return static_cast<T*>(memory_.back()->data());
    }
    // Random fp16 numbers of size 1.
    HiddenRows halves(int rows, int columns) {
        std::vector<std::uint16_t> values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
        for (auto& v : values) v = static_cast<std::uint16_t>((random_() & 0x83ff) | 0x3800);
        return {up(values), rows, columns};
    }
    FloatRows floats(int rows, int columns, float spread = 1) {
        std::vector<float> values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
        std::normal_distribution<float> normal(0, spread);
        for (auto& v : values) v = normal(random_);
        return {up(values), rows, columns};
    }
    void forget() { memory_.clear(); }

    std::unique_ptr<GpuOps> ops;

  private:
    std::map<WeightFormat, std::vector<std::byte>> blocks_;
    std::vector<std::unique_ptr<OpsMemory>> memory_;
    std::minstd_rand random_;
};

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

void bench_products(Bench& bench, double copy_gbs) {
    const std::vector<int> rows = {1, 2, 3, 4, 8, 9, 16, 32, 64, 128, 512};
    for (const WeightFormat format : {WeightFormat::Q8_0, WeightFormat::Q5_K, WeightFormat::Q6_K,
                                      WeightFormat::Q4_K, WeightFormat::F16}) {
        std::vector<double> pass(rows.size());
        std::string header;
        for (const int r : rows) header += fmt::format("{:>16}", fmt::format("{} rows", r));
        fmt::print("\n{:<8}{} (us, % of copy rate; above 64 rows TFLOP/s)\n", name(format), header);
        for (const Product& p : products) {
            const double weights = static_cast<double>(p.rows) * p.columns * (p.gated ? 2 : 1);
            const double bytes =
                weights / static_cast<double>(block_size(format)) * static_cast<double>(block_bytes(format));
            const int copies = std::max(2, static_cast<int>(3e8 / bytes));
            std::vector<std::unique_ptr<WeightMatrix>> first, second;
            for (int i = 0; i < copies; ++i) {
                first.push_back(bench.matrix(format, p.rows, p.columns));
                if (p.gated) second.push_back(bench.matrix(format, p.rows, p.columns));
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
                            bench.ops->gated_matmul(x, *first[at], *second[at], out);
                        } else if (head) {
                            bench.ops->matmul(x, *first[at], FloatRows{logits.data, rows[i], p.rows});
                        } else {
                            bench.ops->matmul(x, one, out);
                        }
                    }
                }) / copies;
                const double share = bytes / us / 1e3 / copy_gbs * 100;
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

struct Sequences {
    BatchView view;
    KvLayer cache;
};

// `count` sequences with `fresh` new rows each, at the end of `context` tokens.
Sequences sequences(Bench& bench, int count, int fresh, int context) {
    const int pages = (context + kv_page_tokens - 1) / kv_page_tokens;
    std::vector<std::int32_t> token, position, sequence, begin, table, logit;
    for (int s = 0; s < count; ++s) {
        begin.push_back(s * fresh);
        for (int i = 0; i < fresh; ++i) {
            token.push_back(i);
            position.push_back(context - fresh + i);
            sequence.push_back(s);
        }
        logit.push_back((s + 1) * fresh - 1);
        for (int p = 0; p < pages; ++p) table.push_back((s * pages + p) * 7919 % (count * pages));
    }
    begin.push_back(count * fresh);
    Sequences result;
    BatchView& v = result.view;
    v.rows = count * fresh;
    v.sequences = v.logits = count;
    v.max_pages = pages;
    v.max_context = context;
    v.max_new = fresh;
    v.token = bench.up(token);
    v.position = bench.up(position);
    v.sequence = bench.up(sequence);
    v.row_begin = bench.up(begin);
    v.page_table = bench.up(table);
    v.logit_row = bench.up(logit);
    result.cache = {bench.halves(count * pages * kv_page_tokens, kv_heads * head_dim).data,
                    bench.halves(count * pages * kv_page_tokens, kv_heads * head_dim).data};
    return result;
}

QkvSettings settings(Bench& bench) {
    QkvSettings s;
    s.heads = heads;
    s.kv_heads = kv_heads;
    s.head_dim = s.rope_dims = head_dim;
    std::vector<float> frequencies;
    for (int i = 0; i < head_dim / 2; ++i)
        frequencies.push_back(std::pow(5e5f, -2.0f * static_cast<float>(i) / head_dim));
    s.rope_frequencies = bench.up(frequencies);
    return s;
}

void bench_attention(Bench& bench, double copy_gbs) {
    fmt::print("\nattention  sequences new context       us   % of copy rate, TFLOP/s\n");
    struct Case {
        int count, fresh, context;
    };
    for (const Case c : {Case{1, 1, 128},
                         {1, 1, 512},
                         {1, 1, 2048},
                         {1, 1, 8192},
                         {1, 1, 32768},
                         {8, 1, 2048},
                         {32, 1, 2048},
                         {128, 1, 512},
                         {1, 512, 512},
                         {1, 512, 8192},
                         {1, 2048, 2048},
                         {8, 64, 512}}) {
        const Sequences s = sequences(bench, c.count, c.fresh, c.context);
        const QkvSettings qkv_settings = settings(bench);
        const HiddenRows qkv = bench.halves(c.count * c.fresh, qkv_width),
                         out = bench.halves(c.count * c.fresh, hidden);
        const int times = 8;
        const double us = bench.us([&] {
            for (int i = 0; i < times; ++i) {
                bench.ops->attention(qkv, qkv_settings, s.view, s.cache, 0.088f, 0, out);
            }
        }) / times;
        const double bytes = 4.0 * c.count * c.context * kv_heads * head_dim;
        const double operations = 4.0 * c.count * c.fresh * (c.context - c.fresh / 2.0) * hidden;
        fmt::print("           {:>9} {:>3} {:>7} {:>8.1f}   {:>3.0f}%  {:.0f}T\n", c.count, c.fresh,
                   c.context, us, bytes / us / 1e3 / copy_gbs * 100, operations / us / 1e6);
        bench.forget();
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
                         {128, 1, 256},
                         {1, 512, 512},
                         {1, 2048, 2048}}) {
        const int rows = c.count * c.fresh;
        const Sequences s = sequences(bench, c.count, c.fresh, c.context);
        const QkvSettings qkv_settings = settings(bench);
        const FloatRows x = bench.floats(rows, hidden), delta = bench.floats(rows, hidden),
                        norm = bench.floats(1, hidden);
        const FloatRows last = bench.floats(c.count, hidden), logits = bench.floats(c.count, vocabulary);
        const HiddenRows h = bench.halves(rows, hidden), qkv = bench.halves(rows, qkv_width),
                         wide = bench.halves(rows, inner);
        const HiddenRows h_last = bench.halves(c.count, hidden);
        SamplingView greedy;
        greedy.temperature = bench.up(std::vector<float>(static_cast<std::size_t>(c.count), 0));
        auto* tokens = bench.up(std::vector<std::int32_t>(static_cast<std::size_t>(c.count), 0));
        const double us = bench.us([&] {
            bench.ops->embed(*head, s.view, x);
            for (const Layer& l : model) {
                const WeightMatrix* three[] = {l.q.get(), l.k.get(), l.v.get()};
                bench.ops->add_rms_norm(x, delta, norm.data, 1e-5f, h, {});
                bench.ops->matmul(h, three, qkv);
                bench.ops->rope_and_store(qkv, qkv_settings, s.view, s.cache);
                bench.ops->attention(qkv, qkv_settings, s.view, s.cache, 0.088f, 0, h);
                bench.ops->matmul(h, *l.o, delta);
                bench.ops->add_rms_norm(x, delta, norm.data, 1e-5f, h, {});
                bench.ops->gated_matmul(h, *l.gate, *l.up, wide);
                bench.ops->matmul(wide, *l.down, delta);
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

double copy_rate(Bench& bench) {
    const std::size_t bytes = std::size_t{1} << 30;
    const auto from = bench.ops->allocate(bytes), to = bench.ops->allocate(bytes);
    const double us = bench.us([&] {
        cuda_check(cudaMemcpyAsync(to->data(), from->data(), bytes, cudaMemcpyDeviceToDevice,
                                   bench.ops->stream().get()),
                   "copying");
    });
    return 2.0 * static_cast<double>(bytes) / us / 1e3;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        Bench bench;
        const double rate = copy_rate(bench);
        fmt::print("{}: copies {:.0f} GB/s, bytes read and written\n", bench.ops->describe(), rate);
        const std::string what = argc > 1 ? argv[1] : "all";
        if (what == "all" || what == "pass") {
            bench_pass(bench, WeightFormat::Q8_0, WeightFormat::Q8_0);
            bench_pass(bench, WeightFormat::Q5_K, WeightFormat::Q6_K);
        }
        if (what == "all" || what == "small") bench_small(bench);
        if (what == "all" || what == "attention") bench_attention(bench, rate);
        if (what == "all" || what == "products") bench_products(bench, rate);
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
