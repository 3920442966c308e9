// The choice of a row's experts by a warp, see Ops::route.
#pragma once

#include "llm/ops/cuda/warp_sum.cuh"
#include "llm/ops/operands.h"

namespace voltpile::llm {

// Orders experts by logit, of equal ones the lower first; NaN comes last. No two have the same key, and none
// has key 0.
__device__ inline unsigned order_of(float logit) {
    const unsigned bits = __float_as_uint(logit + 0.0f);  // -0 becomes 0
    const unsigned order = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
    return isnan(logit) ? 1 : order;
}
// Returns the logit of an order.
__device__ inline float value_of(unsigned order) {
    return __uint_as_float((order & 0x80000000u) != 0 ? order ^ 0x80000000u : ~order);
}
__device__ inline unsigned largest_of_warp(unsigned value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_max_sync(0xffffffffu, value);
#else
    for (int offset = 16; offset > 0; offset /= 2)
        value = max(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
#endif
}

__device__ inline float sigmoid(float x) {
    return 1.0f / (1.0f + expf(-x));
}

// Returns the best groups of experts, one bit for each; of equal ones the lower. order: of the lane's
// experts.
template <int each>
__device__ unsigned best_groups(const unsigned (&order)[each], const RouterSettings& s) {
    const int lane = static_cast<int>(threadIdx.x) % 32, group = s.experts / s.groups;
    unsigned mine = 0;  // how good group `lane` is; 0: there is none, or it has been chosen
    for (int g = 0; g < s.groups; ++g) {
        unsigned first = 0, second = 0;  // of the lane's experts
#pragma unroll
        for (int i = 0; i < each; ++i) {
            if ((i * 32 + lane) / group != g) continue;
            second = max(second, min(first, order[i]));
            first = max(first, order[i]);
        }
        const unsigned best = largest_of_warp(first);
        unsigned good = best;
        if (s.sigmoid) {
            const unsigned with_best = __ballot_sync(0xffffffffu, first == best);
            const unsigned next =
                largest_of_warp(lane == __ffs(static_cast<int>(with_best)) - 1 ? second : first);
            good = order_of(value_of(best) + value_of(next));
        }
        if (lane == g) mine = good;
    }
    unsigned chosen = 0;
    for (int k = 0; k < s.used_groups; ++k) {
        const unsigned best = largest_of_warp(mine);
        const int lowest = __ffs(static_cast<int>(__ballot_sync(0xffffffffu, mine == best))) - 1;
        chosen |= 1u << lowest;
        if (lane == lowest) mine = 0;
    }
    return chosen;
}

// An expert of a row, as in Routing::expert and Routing::weight.
struct ChosenExpert {
    int expert = -1;
    float weight = 0;
};

// A warp chooses the experts of a row, of at most 32 * each. Lane k < used returns the k-th. logits: of the
// row; read past the L1 cache, because other blocks of this kernel may have written them. held:
// Routing::experts.
template <int each>
__device__ ChosenExpert chosen_of_row(const float* logits, const RouterSettings& s, bool empty, int held) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if (empty) return {};
    // The lane's experts are lane, lane + 32...; order 0: there is no such one, or it has been chosen. A
    // sigmoid router has scores in place of logits.
    float logit[each];
    unsigned order[each];
#pragma unroll
    for (int i = 0; i < each; ++i) {
        const int e = i * 32 + lane;
        logit[i] = e < s.experts ? __ldcg(logits + e) : 0.0f;
        if (s.bias != nullptr && e < s.experts) logit[i] += s.bias[e];
        if (s.sigmoid) logit[i] = sigmoid(logit[i]);
        const float bias = s.choice_bias != nullptr && e < s.experts ? s.choice_bias[e] : 0.0f;
        order[i] = e < s.experts ? order_of(logit[i] + bias) : 0;
    }
    if (s.groups > s.used_groups) {
        const unsigned groups = best_groups<each>(order, s);
        const int group = s.experts / s.groups;
#pragma unroll
        for (int i = 0; i < each; ++i)
            if (order[i] != 0 && (groups >> ((i * 32 + lane) / group) & 1) == 0) order[i] = 0;
    }
    int mine = 0;
    float chosen = 0, largest = 0;  // logits, or scores of a sigmoid router
    for (int k = 0; k < s.used; ++k) {
        unsigned best = 0;
#pragma unroll
        for (int i = 0; i < each; ++i) best = max(best, order[i]);
        const unsigned best_of_all = largest_of_warp(best);
        const unsigned equal = __ballot_sync(0xffffffffu, best == best_of_all);
        int at = 0;
#pragma unroll
        for (int i = each - 1; i >= 0; --i) at = order[i] == best_of_all ? i : at;
        int winner = __ffs(static_cast<int>(equal)) - 1;
        // Of lanes with an equal logit, the one whose expert is the lowest.
        if ((equal & (equal - 1)) != 0)
            winner = static_cast<int>(
                ~largest_of_warp(best == best_of_all ? ~static_cast<unsigned>(at * 32 + lane) : 0u) % 32);
        float logit_at = 0;
#pragma unroll
        for (int i = 0; i < each; ++i) {
            if (i != at) continue;
            logit_at = logit[i];
            if (lane == winner) order[i] = 0;
        }
        const float logit_of_winner = __shfl_sync(0xffffffffu, logit_at, winner);
        const int place = __shfl_sync(0xffffffffu, at, winner);
        if (k == 0) largest = logit_of_winner;
        if (k == lane) {
            mine = place * 32 + winner;
            chosen = logit_of_winner;
        }
    }
    const float weight = lane >= s.used ? 0.0f : s.sigmoid ? chosen : expf(chosen - largest);
    float all = weight;
    if (s.sigmoid) {
        all = s.normalized ? weight : 0.0f;
    } else if (!s.normalized) {
        all = 0;
#pragma unroll
        for (int i = 0; i < each; ++i)
            if (i * 32 + lane < s.experts) all += expf(logit[i] - largest);
    }
    all = sum_of_warp(all);
    if (s.sigmoid) all = s.normalized ? all + 1e-20f : 1.0f;
    if (lane >= s.used) return {};
    mine -= s.held_begin;
    return {mine < 0 || mine >= held ? -1 : mine, weight / all * s.scale};
}

// The same, and writes them. Returns what Routing::expert has for lane k < used.
template <int each>
__device__ int choose_of_row(const float* logits, const RouterSettings& s, bool empty, int row,
                             const Routing& to) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if (to.shared != nullptr && lane == 0)
        to.shared[row] = s.shared_gate != nullptr ? sigmoid(__ldcg(logits + s.experts)) : 1.0f;
    const ChosenExpert chosen = chosen_of_row<each>(logits, s, empty, to.experts);
    if (lane < s.used) {
        const std::int64_t place = static_cast<std::int64_t>(row) * s.used + lane;
        to.expert[place] = chosen.expert;
        to.weight[place] = chosen.weight;
        if (chosen.expert < 0) to.place[place] = -1;
    }
    return chosen.expert;
}

}  // namespace voltpile::llm
