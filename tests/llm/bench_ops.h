// Timing in CUDA graphs, synthetic weights and batches for bench_llm_ops.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "device/check.h"
#include "llm/model/synthetic_blocks.h"
#include "llm/ops/cuda/cuda_ops.h"

namespace voltpile::llm {

// Llama 3 8B.
constexpr int hidden = 4096, inner = 14336, heads = 32, kv_heads = 8, head_dim = 128, vocabulary = 128256,
              layers = 32;
constexpr int qkv_width = (heads + 2 * kv_heads) * head_dim;

class Bench {
  public:
    explicit Bench(bool batch_invariant) {
        CudaOpsSettings settings;
        settings.batch_invariant = batch_invariant;
        settings.integer_bytes = std::size_t{16} << 30;
        ops = make_cuda_ops(0, settings);
    }

    // Returns the microseconds of one run of `body`: the best of several replays.
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
            // One piece of random blocks, repeated.
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
    // Random fp16 numbers of magnitude 1.
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

struct Sequences {
    BatchView view;
    KvLayer cache;
};
// What a token has in the cache.
struct CachedHeads {
    int count = kv_heads, dim = head_dim;
    bool latent = false;  // values are the keys
};

// Returns a batch of `count` sequences with `fresh` new rows each, the last of `context` tokens.
inline Sequences sequences(Bench& bench, int count, int fresh, int context,
                           KvElement element = KvElement::F16, const CachedHeads& cached_heads = {}) {
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
    if (fresh > 1) v.prompt_pages = count * pages;
    v.token = bench.up(token);
    v.position = bench.up(position);
    v.sequence = bench.up(sequence);
    v.row_begin = bench.up(begin);
    v.page_table = bench.up(table);
    v.logit_row = bench.up(logit);
    // Any bytes are quants or codes.
    const auto dim = static_cast<std::size_t>(cached_heads.dim);
    const int cached = count * pages * kv_page_tokens * cached_heads.count;
    const auto numbers = [&] {
        return bench.halves(cached, static_cast<int>(kv_number_bytes(element, dim) / 2)).data;
    };
    const auto scales = [&]() -> void* {
        if (element == KvElement::F16) return nullptr;
        if (element == KvElement::I8) return bench.floats(1, cached).data;
        return bench.halves(cached, static_cast<int>(kv_scale_bytes(element, dim) / 2)).data;
    };
    void* const keys = numbers();
    result.cache = {keys, cached_heads.latent ? keys : numbers(), element, scales(), scales()};
    return result;
}

inline QkvSettings settings(Bench& bench) {
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

void bench_experts(Bench& bench, double read_gbs);
void bench_latent(Bench& bench, double read_gbs);

}  // namespace voltpile::llm
