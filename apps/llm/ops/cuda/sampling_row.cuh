// Draws a token from one row of logits with a block of threads. Probabilities are fixed-point numbers
// relative to the largest, so their sums do not depend on the order of addition. Histograms over ever smaller
// ranges of logits find the boundaries of top-k and top-p.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace voltpile::llm {

constexpr int sample_threads = 512;
constexpr int sample_warps = sample_threads / 32;
constexpr int sample_bins = sample_threads;
constexpr float weight_one = 1099511627776.0f;  // 2^40: the weight of the most probable token
constexpr float weight_range = 28;  // logit differences in units of the temperature; exp(-28) is 0

struct Best {
    float logit;
    int token;
};
constexpr Best no_token{-INFINITY, 0x7fffffff};
__device__ inline Best better(const Best& a, const Best& b) {
    return b.logit > a.logit || (b.logit == a.logit && b.token < a.token) ? b : a;
}
__device__ inline Best best_of_warp(Best mine) {
    for (int offset = 16; offset > 0; offset /= 2) {
        mine = better(mine, {__shfl_xor_sync(0xffffffffu, mine.logit, offset),
                             __shfl_xor_sync(0xffffffffu, mine.token, offset)});
    }
    return mine;
}
// Returns the best of all threads to all threads. shared: one element per warp.
__device__ inline Best best_of_block(Best mine, Best* shared) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warps = static_cast<int>(blockDim.x) / 32;
    mine = best_of_warp(mine);
    if (lane == 0) shared[threadIdx.x / 32] = mine;
    __syncthreads();
    for (int w = 0; w < warps; ++w) mine = better(mine, shared[w]);
    __syncthreads();
    return mine;
}

using Mass = unsigned long long;

struct Histogram {
    unsigned count[sample_bins];
    Mass mass[sample_bins];
};
// The last of the most probable tokens that reach a count or a mass.
struct Border {
    std::uint32_t key;
    unsigned ties;    // tokens with this key that are inside the border, the lower tokens first
    unsigned equal;   // tokens with this key
    Mass mass_above;  // of the tokens with larger keys
};
struct SampleShared {
    Histogram coarse, fine;
    Best best[sample_warps];
    Mass warp_mass[sample_warps];
    unsigned warp_count[sample_warps];
    int found;
    unsigned count_before;
    Mass mass_before;
};

// Maps floats to integers in the same order; float_of() is the inverse.
__device__ inline std::uint32_t key_of(float v) {
    const std::uint32_t bits = __float_as_uint(v == 0 ? 0.0f : v);
    return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}
__device__ inline float float_of(std::uint32_t key) {
    return __uint_as_float((key & 0x80000000u) != 0 ? key ^ 0x80000000u : ~key);
}

struct SampleRow {
    const float* logits;
    int size;
    float best, temperature;
    SampleShared& shared;

    __device__ __forceinline__ float probability(float logit) const {
        return expf((logit - best) / temperature);
    }
    __device__ __forceinline__ Mass mass_of(float logit) const {
        return static_cast<Mass>(probability(logit) * weight_one);
    }
    // Returns a logit's bin. Bins have equal width, the most probable first; sample_bins: the weight is 0.
    __device__ __forceinline__ int coarse_bin(float logit) const {
        const float bin = (best - logit) * (sample_bins / weight_range) / temperature;
        return bin < sample_bins ? static_cast<int>(bin) : sample_bins;
    }

    // Fills a histogram of the logits whose bin() is below sample_bins.
    template <class Bin>
    __device__ __forceinline__ void fill(Histogram& histogram, const Bin& bin) const {
        const int t = static_cast<int>(threadIdx.x);
        histogram.count[t] = 0;
        histogram.mass[t] = 0;
        __syncthreads();
        for (int i = t; i < size; i += sample_threads) {
            const float v = logits[i];
            const int b = bin(v);
            if (b < 0 || b >= sample_bins) continue;
            atomicAdd(&histogram.count[b], 1u);
            atomicAdd(&histogram.mass[b], mass_of(v));
        }
        __syncthreads();
    }

    // Returns the sum over all threads before this one; all: the sum over the block.
    template <class T>
    __device__ __forceinline__ T sum_before(T mine, T* warps, T& all) const {
        const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
        T through = mine;
        for (int offset = 1; offset < 32; offset *= 2) {
            const T other = __shfl_up_sync(0xffffffffu, through, offset);
            if (lane >= offset) through += other;
        }
        if (lane == 31) warps[warp] = through;
        __syncthreads();
        T before = through - mine;
        all = 0;
        for (int w = 0; w < sample_warps; ++w) {
            if (w < warp) before += warps[w];
            all += warps[w];
        }
        __syncthreads();
        return before;
    }

    // Returns the bin in which the target is reached, or -1. count_before, mass_before: the count and mass
    // before the histogram, and then before that bin.
    __device__ __forceinline__ int find(const Histogram& histogram, bool by_mass, unsigned count_target,
                                        Mass mass_target, unsigned& count_before, Mass& mass_before) const {
        const int t = static_cast<int>(threadIdx.x);
        unsigned counts;
        Mass masses;
        const unsigned count = count_before + sum_before(histogram.count[t], shared.warp_count, counts);
        const Mass mass = mass_before + sum_before(histogram.mass[t], shared.warp_mass, masses);
        if (t == 0) shared.found = -1;
        __syncthreads();
        const bool here = by_mass ? mass < mass_target && mass_target <= mass + histogram.mass[t]
                                  : count < count_target && count_target <= count + histogram.count[t];
        if (here) {
            shared.found = t;
            shared.count_before = count;
            shared.mass_before = mass;
        }
        __syncthreads();
        const int found = shared.found;
        if (found >= 0) {
            count_before = shared.count_before;
            mass_before = shared.mass_before;
        }
        __syncthreads();
        return found;
    }

    // Finds the border at which the target is reached. Returns false if all tokens with a weight do not reach
    // it. shared.coarse must be filled.
    __device__ __forceinline__ bool border(bool by_mass, unsigned count_target, Mass mass_target,
                                           Border& result) const {
        unsigned count_before = 0;
        Mass mass_before = 0;
        const int coarse = find(shared.coarse, by_mass, count_target, mass_target, count_before, mass_before);
        if (coarse < 0) return false;
        // The keys of this bin; bins decrease as keys increase.
        std::uint32_t low = first_key([&](std::uint32_t key) { return coarse_bin(float_of(key)) <= coarse; });
        std::uint32_t high = key_of(best);
        if (coarse > 0)
            high = first_key([&](std::uint32_t key) { return coarse_bin(float_of(key)) < coarse; }) - 1;
        while (true) {
            int shift = 0;
            while ((high - low) >> shift >= sample_bins) ++shift;
            fill(shared.fine, [&](float v) {
                const std::uint32_t key = key_of(v);
                return key < low || key > high ? sample_bins : static_cast<int>((high - key) >> shift);
            });
            const int fine = find(shared.fine, by_mass, count_target, mass_target, count_before, mass_before);
            if (fine < 0) return false;
            high -= static_cast<std::uint32_t>(fine) << shift;
            if (shift == 0) {
                const unsigned equal = shared.fine.count[fine];
                const Mass each = shared.fine.mass[fine] / equal;
                const unsigned ties =
                    by_mass ? static_cast<unsigned>((mass_target - mass_before + each - 1) / each)
                            : count_target - count_before;
                result = {high, min(ties, equal), equal, mass_before};
                __syncthreads();
                return true;
            }
            const std::uint32_t width = (1u << shift) - 1;
            low = high - low > width ? high - width : low;
        }
    }
    // Returns the smallest key for which holds(key) is true, at most that of the best logit.
    template <class Holds>
    __device__ __forceinline__ std::uint32_t first_key(const Holds& holds) const {
        std::uint32_t low = key_of(-3.402823466e38f), high = key_of(best);
        while (low < high) {
            const std::uint32_t middle = low + (high - low) / 2;
            if (holds(middle)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low;
    }

    // Calls call(token, token exists) for the tokens of the warp's part of the row, in order, with all lanes
    // at once, until it returns false.
    template <class Call>
    __device__ __forceinline__ void in_order(const Call& call) const {
        const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
        const int each = (size + sample_threads - 1) / sample_threads * 32;
        for (int i = warp * each; i < min(size, (warp + 1) * each); i += 32) {
            if (!call(i + lane, i + lane < size)) break;
        }
    }

    // Returns the first token, in order, at which the running sum of amount(token) exceeds target.
    template <class Amount>
    __device__ __forceinline__ int reach(Mass target, const Amount& amount) const {
        const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
        Mass mine = 0;
        in_order([&](int token, bool there) {
            if (there) mine += amount(token);
            return true;
        });
        for (int offset = 16; offset > 0; offset /= 2) mine += __shfl_xor_sync(0xffffffffu, mine, offset);
        if (lane == 0) shared.warp_mass[warp] = mine;
        if (threadIdx.x == 0) shared.found = 0;
        __syncthreads();
        Mass before = 0;
        for (int w = 0; w < warp; ++w) before += shared.warp_mass[w];
        if (before <= target && target < before + mine) {
            in_order([&](int token, bool there) {
                const Mass here = there ? amount(token) : 0;
                Mass through = here;
                for (int offset = 1; offset < 32; offset *= 2) {
                    const Mass other = __shfl_up_sync(0xffffffffu, through, offset);
                    if (lane >= offset) through += other;
                }
                const unsigned past = __ballot_sync(0xffffffffu, before + through > target);
                if (past != 0 && lane == __ffs(static_cast<int>(past)) - 1) shared.found = token;
                before += __shfl_sync(0xffffffffu, through, 31);
                return past == 0;
            });
        }
        __syncthreads();
        const int found = shared.found;
        __syncthreads();
        return found;
    }

    __device__ __forceinline__ int draw(int top_k, float top_p, float min_p, float uniform) const {
        // Tokens with larger keys remain, and those with this key up to last_tie.
        std::uint32_t key = 0;
        int last_tie = 0x7fffffff;
        const bool by_count = top_k > 0 && top_k < size, by_mass = top_p < 1;
        if (by_count || by_mass) {
            fill(shared.coarse, [&](float v) { return coarse_bin(v); });
            Mass total = 0;
            sum_before(shared.coarse.mass[threadIdx.x], shared.warp_mass, total);
            Border border_of{};
            bool cut = by_count && border(false, static_cast<unsigned>(top_k), 0, border_of);
            if (cut) total = border_of.mass_above + border_of.ties * mass_of(float_of(border_of.key));
            if (by_mass) {
                const double wanted = static_cast<double>(total) * static_cast<double>(top_p);
                const Mass target = max(Mass{1}, static_cast<Mass>(ceil(wanted)));
                cut = border(true, 0, target, border_of) || cut;
            }
            if (cut) {
                key = border_of.key;
                if (border_of.ties < border_of.equal) {
                    last_tie =
                        reach(border_of.ties - 1, [&](int i) { return Mass{key_of(logits[i]) == key}; });
                }
            }
        }
        const auto mass = [&](int i) {
            const float v = logits[i];
            const std::uint32_t mine = key_of(v);
            const bool kept = mine > key || (mine == key && i <= last_tie);
            return kept && probability(v) >= min_p ? mass_of(v) : Mass{0};
        };
        Mass mine = 0, total = 0;
        for (int i = static_cast<int>(threadIdx.x); i < size; i += sample_threads) mine += mass(i);
        sum_before(mine, shared.warp_mass, total);
        const auto part = static_cast<Mass>(uniform * 16777216.0f);  // exact: u is a multiple of 2^-24
        const Mass target = (total >> 24) * part + (((total & 0xffffff) * part) >> 24);
        return reach(target, mass);
    }
};

}  // namespace voltpile::llm
