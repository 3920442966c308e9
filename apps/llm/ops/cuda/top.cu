// Finds the most probable tokens of rows of logits: one block per part of a row, then one block per row.
#include "device/launch.cuh"
#include "llm/ops/cuda/sampling.h"
#include "llm/ops/cuda/sampling_row.cuh"
#include "llm/ops/cuda/warp_sum.cuh"

namespace voltpile::llm {

namespace {

constexpr int top_threads = 256;

struct TopScratch {
    LogitsPart* parts;  // (rows, top_parts)
    Best* best;         // (rows, top_parts, n)
};

// Finds the n best candidates of all threads in order. next(last) returns a thread's best candidate after
// `last`. The first thread calls put(k, best).
template <class Next, class Put>
__device__ void take_best(int n, Best* shared, const Next& next, const Put& put) {
    Best mine = next(Best{INFINITY, -1});
    for (int k = 0; k < n; ++k) {
        const Best best = best_of_block(mine, shared);
        if (threadIdx.x == 0) put(k, best);
        if (mine.token == best.token) mine = next(best);
    }
}
__device__ bool behind(const Best& last, const Best& each) {
    return each.logit < last.logit || (each.logit == last.logit && each.token > last.token);
}

// Grid: (parts, rows).
__global__ void __launch_bounds__(top_threads)
    top_of_parts(const float* logits, int vocabulary, int n, const TopScratch scratch) {
    __shared__ Best shared[top_threads / 32];
    __shared__ float sums[top_threads / 32];
    const int size = (vocabulary + top_parts - 1) / top_parts;
    const int begin = static_cast<int>(blockIdx.x) * size, end = min(vocabulary, begin + size);
    const float* from = logits + static_cast<std::int64_t>(blockIdx.y) * vocabulary;
    const int part = static_cast<int>(blockIdx.y) * top_parts + static_cast<int>(blockIdx.x);
    const int t = static_cast<int>(threadIdx.x);
    const auto next = [&](const Best& last) {
        Best best = no_token;
        for (int i = begin + t; i < end; i += top_threads) {
            const Best each{from[i], i};
            if (behind(last, each)) best = better(best, each);
        }
        return best;
    };
    Best* out = scratch.best + static_cast<std::int64_t>(part) * n;
    take_best(n, shared, next, [&](int k, const Best& best) { out[k] = best; });

    __syncthreads();
    const float largest = out[0].logit;
    bool bad = false;
    float sum = 0;
    for (int i = begin + t; i < end; i += top_threads) {
        bad = bad || isnan(from[i]) || from[i] == INFINITY;
        if (largest > -INFINITY) sum += expf(from[i] - largest);
    }
    sum = sum_of_warp(sum);
    if (t % 32 == 0) sums[t / 32] = sum;
    bad = __syncthreads_or(bad) != 0;
    if (t != 0) return;
    sum = 0;
    for (const float each : sums) sum += each;
    scratch.parts[part] = {largest, out[0].token, sum, bad, largest, out[0].token};
}

// One block per row.
__global__ void __launch_bounds__(top_threads)
    top_of_rows(int n, const TopScratch scratch, std::int32_t* tokens, float* log_probabilities) {
    __shared__ Best shared[top_threads / 32];
    const int row = static_cast<int>(blockIdx.x), t = static_cast<int>(threadIdx.x);
    const LogitsPart* parts = scratch.parts + row * top_parts;
    const Best* candidates = scratch.best + static_cast<std::int64_t>(row) * top_parts * n;
    float largest = -INFINITY, sum = 0;
    bool bad = false;
    for (int p = 0; p < top_parts; ++p) {
        largest = fmaxf(largest, parts[p].largest);
        bad = bad || parts[p].bad != 0;
    }
    bad = bad || largest == -INFINITY;
    for (int p = 0; p < top_parts; ++p) {
        if (parts[p].largest > -INFINITY) sum += parts[p].sum * expf(parts[p].largest - largest);
    }
    const float log_sum = logf(sum);
    const auto next = [&](const Best& last) {
        Best best = no_token;
        for (int i = t; i < top_parts * n; i += top_threads) {
            if (behind(last, candidates[i])) best = better(best, candidates[i]);
        }
        return best;
    };
    take_best(n, shared, next, [&](int k, const Best& best) {
        const std::int64_t at = static_cast<std::int64_t>(row) * n + k;
        tokens[at] = bad ? -1 : best.token;
        log_probabilities[at] = bad ? NAN : best.logit - largest - log_sum;
    });
}

}  // namespace

void launch_top(const float* logits, int rows, int vocabulary, int n, std::int32_t* tokens,
                float* log_probabilities, std::uint8_t* scratch, const Stream& stream) {
    auto* parts = reinterpret_cast<LogitsPart*>(scratch);
    const TopScratch places{parts,
                            reinterpret_cast<Best*>(parts + static_cast<std::int64_t>(rows) * top_parts)};
    launch("top tokens of parts", top_of_parts, {top_parts, top_threads, 0, rows}, stream, logits, vocabulary,
           n, places);
    launch("top tokens", top_of_rows, {rows, top_threads}, stream, n, places, tokens, log_probabilities);
}

}  // namespace voltpile::llm
