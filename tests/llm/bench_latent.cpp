// Attention over the latent vectors of DeepSeek V2 Lite (16 heads) and V3 (128).
#include <fmt/format.h>

#include "llm/bench_ops.h"

namespace voltpile::llm {

namespace {

constexpr int latent_key = 576, latent_value = 512;

struct LatentCase {
    int heads, count, fresh, context;
};

QkvSettings latent_settings(int query_heads) {
    QkvSettings settings;
    settings.heads = query_heads;
    settings.kv_heads = 1;
    settings.head_dim = latent_key;
    settings.rope_dims = latent_key - latent_value;
    return settings;
}

// Returns microseconds.
double time_latent(Bench& bench, const LatentCase& c) {
    const Sequences s = sequences(bench, c.count, c.fresh, c.context, KvElement::F16, {1, latent_key, true});
    const QkvSettings qkv_settings = latent_settings(c.heads);
    const int rows = c.count * c.fresh;
    const HiddenRows qkv = bench.halves(rows, (c.heads + 2) * latent_key),
                     out = bench.halves(rows, c.heads * latent_key);
    const int times = 8;
    const double us = bench.us([&] {
        for (int i = 0; i < times; ++i)
            bench.ops->attention(qkv, qkv_settings, s.view, s.cache, {0.072f}, out);
    });
    bench.forget();
    return us / times;
}

}  // namespace

void bench_latent(Bench& bench, double read_gbs) {
    fmt::print("\nlatent attention  heads sequences new context       us   % of read rate, TFLOP/s\n");
    for (const LatentCase& c : {LatentCase{16, 1, 1, 128},
                                {16, 1, 1, 512},
                                {16, 1, 1, 2048},
                                {16, 1, 1, 8192},
                                {16, 1, 1, 32768},
                                {16, 8, 1, 2048},
                                {16, 32, 1, 512},
                                {16, 32, 1, 2048},
                                {16, 128, 1, 512},
                                {16, 8, 4, 2048},
                                {16, 1, 128, 8192},
                                {16, 1, 512, 512},
                                {16, 1, 2048, 2048},
                                {16, 1, 4096, 4096},
                                {16, 8, 64, 512},
                                {128, 1, 1, 2048},
                                {128, 32, 1, 2048},
                                {128, 1, 512, 512}}) {
        const double us = time_latent(bench, c);
        const double bytes = 2.0 * c.count * c.context * latent_key;
        const double operations =
            2.0 * (latent_key + latent_value) * c.heads * c.count * c.fresh * (c.context - c.fresh / 2.0);
        fmt::print("                  {:>5} {:>9} {:>3} {:>7} {:>8.1f}   {:>3.0f}%  {:.0f}T\n", c.heads,
                   c.count, c.fresh, c.context, us, bytes / us / 1e3 / read_gbs * 100, operations / us / 1e6);
    }
}

}  // namespace voltpile::llm
