#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/sampling.h"
#include "llm/ops/cuda/sampling_row.cuh"
#include "llm/ops/cuda/warp_sum.cuh"
#include "llm/ops/philox.h"

namespace voltpile::llm {

namespace {

constexpr int part_threads = 256;

__device__ int listed(const std::int32_t* begin, int row) {
    return begin == nullptr ? 0 : begin[row + 1] - begin[row];
}
__device__ bool changed(const SamplingView& s, int row) {
    return listed(s.history_begin, row) > 0 || listed(s.bias_begin, row) > 0;
}

// The tokens that a row's mask allows.
struct Allowed {
    __device__ Allowed(const SamplingView& s, int row)
        : words(s.mask_begin == nullptr ? 0 : s.mask_end[row] - s.mask_begin[row]),
          mask(words > 0 ? s.mask + s.mask_begin[row] : nullptr) {}
    __device__ bool operator()(int token) const {
        return words == 0 || (token / 32 < words && ((mask[token / 32] >> (token % 32)) & 1u) != 0);
    }
    int words;
    const std::uint32_t* mask;
};

struct Scratch {
    float* logits;      // (rows, padded vocabulary): after mask, penalties and bias
    LogitsPart* parts;  // (rows, sampling_parts)
    int stride;
};

// Finds the largest logit, the largest allowed one and the sum of exponentials of each part. Copies rows that
// the next kernel changes or draws from, with -infinity for tokens that the mask does not allow. Grid:
// (parts, rows).
__global__ void __launch_bounds__(part_threads)
    scan_logits(const float* logits, int first_row, int vocabulary, const SamplingView s,
                const Scratch scratch) {
    __shared__ Best best[part_threads / 32];
    __shared__ float sums[part_threads / 32];
    __shared__ int bad_shared;
    const int row = first_row + static_cast<int>(blockIdx.y);
    const int size = (vocabulary + sampling_parts - 1) / sampling_parts;
    const int begin = static_cast<int>(blockIdx.x) * size, end = min(vocabulary, begin + size);
    const float* from = logits + static_cast<std::int64_t>(row) * vocabulary;
    float* copy = scratch.logits + static_cast<std::int64_t>(blockIdx.y) * scratch.stride;
    const bool want_copy = changed(s, row) || s.temperature[row] > 0;
    const Allowed allowed(s, row);
    const int t = static_cast<int>(threadIdx.x);
    if (t == 0) bad_shared = 0;
    begin_after_earlier_kernels();

    Best mine = no_token, mine_allowed = no_token;
    bool bad = false;
    constexpr int each = 4;  // loads at once
    for (int first = begin + t; first < end; first += each * part_threads) {
        float value[each];
#pragma unroll
        for (int k = 0; k < each; ++k)
            value[k] = first + k * part_threads < end ? from[first + k * part_threads] : 0.0f;
#pragma unroll
        for (int k = 0; k < each; ++k) {
            const int i = first + k * part_threads;
            if (i >= end) continue;
            const float v = value[k];
            const bool may = allowed(i);
            bad = bad || isnan(v) || v == INFINITY;
            mine = better(mine, {v, i});
            if (may) mine_allowed = better(mine_allowed, {v, i});
            if (want_copy) copy[i] = may ? v : -INFINITY;
        }
    }
    mine = best_of_block(mine, best);
    if (allowed.words > 0) mine_allowed = best_of_block(mine_allowed, best);
    if (bad) bad_shared = 1;
    float sum = 0;
    if (mine.logit > -INFINITY) {
#pragma unroll 4
        for (int i = begin + t; i < end; i += part_threads) sum += expf(from[i] - mine.logit);
    }
    sum = sum_of_warp(sum);
    if (t % 32 == 0) sums[t / 32] = sum;
    __syncthreads();
    if (t == 0) {
        sum = 0;
        for (const float part : sums) sum += part;
        scratch.parts[static_cast<int>(blockIdx.y) * sampling_parts + static_cast<int>(blockIdx.x)] = {
            mine.logit, mine.token, sum, bad_shared, mine_allowed.logit, mine_allowed.token};
    }
}

__device__ void penalize_and_bias(float* logits, const SamplingView& s, int row) {
    for (int i = static_cast<int>(threadIdx.x); i < listed(s.history_begin, row); i += sample_threads) {
        const int at = s.history_begin[row] + i;
        float& logit = logits[s.history_token[at]];
        const float repetition = s.repetition_penalty[row];
        const float divided = logit > 0 ? logit / repetition : logit * repetition;
        logit = divided - (s.presence_penalty[row] +
                           s.frequency_penalty[row] * static_cast<float>(s.history_count[at]));
    }
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < listed(s.bias_begin, row); i += sample_threads) {
        const int at = s.bias_begin[row] + i;
        logits[s.bias_token[at]] += s.bias[at];
    }
    __syncthreads();
}

// Returns the most probable of the allowed tokens, or the initial value if none is allowed.
__device__ Best best_allowed(const float* logits, int vocabulary, const SamplingView& s, int row,
                             Best* shared) {
    const Allowed allowed(s, row);
    Best best = no_token;
    for (int i = static_cast<int>(threadIdx.x); i < vocabulary; i += sample_threads) {
        if (allowed(i)) best = better(best, {logits[i], i});
    }
    return best_of_block(best, shared);
}

// One block per row.
__global__ void __launch_bounds__(sample_threads, 1)
    sample_rows(const float* logits, int first_row, int vocabulary, const SamplingView s,
                const Scratch scratch, std::int32_t* tokens, float* log_probability) {
    __shared__ SampleShared shared;
    const int row = first_row + static_cast<int>(blockIdx.x), t = static_cast<int>(threadIdx.x);
    begin_after_earlier_kernels();
    // Each warp joins the parts.
    constexpr int each = sampling_parts / 32;
    LogitsPart part[each];
    Best best = no_token, best_of_allowed = no_token;
    bool bad = false;
#pragma unroll
    for (int k = 0; k < each; ++k) {
        part[k] = scratch.parts[static_cast<int>(blockIdx.x) * sampling_parts + 32 * k + t % 32];
        best = better(best, {part[k].largest, part[k].token});
        best_of_allowed = better(best_of_allowed, {part[k].largest_allowed, part[k].allowed_token});
        bad = bad || part[k].bad != 0;
    }
    bad = __any_sync(0xffffffffu, bad);
    best = best_of_warp(best);
    if (bad || best.logit == -INFINITY) {
        if (t == 0) tokens[row] = -1;
        if (t == 0 && log_probability != nullptr) log_probability[row] = NAN;
        return;
    }
    float sum = 0;
#pragma unroll
    for (int k = 0; k < each; ++k) {
        if (part[k].largest > -INFINITY) sum += part[k].sum * expf(part[k].largest - best.logit);
    }
    sum = sum_of_warp(sum);

    const Best largest = best;
    float* mine = scratch.logits + static_cast<std::int64_t>(blockIdx.x) * scratch.stride;
    if (changed(s, row)) {
        penalize_and_bias(mine, s, row);
        best = best_allowed(mine, vocabulary, s, row, shared.best);
    } else if (Allowed(s, row).words > 0) {
        best = best_of_warp(best_of_allowed);
    }
    int token = best.token;
    if (token >= vocabulary) {  // the mask allows none
        if (t == 0) tokens[row] = -1;
        if (t == 0 && log_probability != nullptr) log_probability[row] = NAN;
        return;
    }
    if (s.temperature[row] > 0 && isfinite(best.logit)) {
        SampleRow drawn{mine, vocabulary, best.logit, fmaxf(s.temperature[row], 1e-6f), shared};
        token =
            drawn.draw(s.top_k[row], s.top_p[row], s.min_p[row], uniform_of_step(s.seed[row], s.step[row]));
    }
    if (t != 0) return;
    tokens[row] = token;
    if (log_probability == nullptr) return;
    const float logit =
        token == largest.token ? largest.logit : logits[static_cast<std::int64_t>(row) * vocabulary + token];
    log_probability[row] = logit - largest.logit - logf(sum);
}

}  // namespace

void launch_sample(const float* logits, int first_row, int rows, int vocabulary, const SamplingView& sampling,
                   std::int32_t* tokens, float* log_probability, std::uint8_t* scratch,
                   const Stream& stream) {
    const int stride = (vocabulary + 3) / 4 * 4;
    const Scratch places{
        reinterpret_cast<float*>(scratch),
        reinterpret_cast<LogitsPart*>(scratch + static_cast<std::int64_t>(rows) * stride * 4), stride};
    launch_early("looking through logits", scan_logits, {sampling_parts, part_threads, 0, rows}, stream,
                 logits, first_row, vocabulary, sampling, places);
    launch_early("sampling", sample_rows, {rows, sample_threads}, stream, logits, first_row, vocabulary,
                 sampling, places, tokens, log_probability);
}

}  // namespace voltpile::llm
