#include "llm/ops/routing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "llm/model/model_config.h"

namespace voltpile::llm {

static_assert(sizeof(float) == sizeof(std::int32_t));

std::size_t routing_bytes(std::int64_t rows, int experts, int used) {
    return static_cast<std::size_t>(rows * (4 * used + 1) + experts + 1) * sizeof(float);
}

Routing routing_in(void* memory, std::int64_t rows, int experts, int used, bool shared) {
    Routing routing;
    routing.experts = routing.all_experts = experts;
    routing.used = used;
    routing.expert = static_cast<std::int32_t*>(memory);
    routing.place = routing.expert + rows * used;
    routing.row = routing.place + rows * used;
    routing.begin = routing.row + rows * used;
    routing.weight = reinterpret_cast<float*>(routing.begin + experts + 1);
    if (shared) routing.shared = routing.weight + rows * used;
    return routing;
}

namespace {

// A set of groups, one bit for each.
using Groups = std::uint32_t;
static_assert(kMostExpertGroups <= 32);

// Returns the best groups by the keys of their experts, of equal ones the lower.
Groups best_groups(const float* keys, const RouterSettings& settings) {
    if (settings.groups <= settings.used_groups) return ~Groups{0};
    const int each = settings.experts / settings.groups;
    std::array<float, kMostExpertGroups> scores{};
    for (int g = 0; g < settings.groups; ++g) {
        float first = -std::numeric_limits<float>::infinity(), second = first;
        for (int e = g * each; e < (g + 1) * each; ++e) {
            second = std::max(second, std::min(first, keys[e]));
            first = std::max(first, keys[e]);
        }
        scores[static_cast<std::size_t>(g)] = settings.sigmoid ? first + second : first;
    }
    Groups chosen = 0;
    for (int k = 0; k < settings.used_groups; ++k) {
        int best = -1;
        for (int g = 0; g < settings.groups; ++g)
            if ((chosen >> g & 1) == 0 &&
                (best < 0 || scores[static_cast<std::size_t>(g)] > scores[static_cast<std::size_t>(best)]))
                best = g;
        chosen |= Groups{1} << best;
    }
    return chosen;
}

// Sets the weights of a row's experts, in the order of `expert`, from the scores of a sigmoid router.
void weigh_sigmoids(const float* scores, const RouterSettings& settings, const std::int32_t* expert,
                    float* weight) {
    float sum = 1e-20F;
    for (int k = 0; k < settings.used; ++k) sum += weight[k] = scores[expert[k]];
    for (int k = 0; k < settings.used; ++k)
        weight[k] = (settings.normalized ? weight[k] / sum : weight[k]) * settings.scale;
}

void weigh_softmax(const float* logits, const RouterSettings& settings, const std::int32_t* expert,
                   float* weight) {
    const float largest = logits[expert[0]];
    float all = 0, used = 0;
    for (int e = 0; e < settings.experts; ++e) all += std::exp(logits[e] - largest);
    for (int k = 0; k < settings.used; ++k) used += weight[k] = std::exp(logits[expert[k]] - largest);
    for (int k = 0; k < settings.used; ++k)
        weight[k] = weight[k] / (settings.normalized ? used : all) * settings.scale;
}

}  // namespace

void choose_experts(const float* logits, const RouterSettings& settings, bool empty, std::int64_t row,
                    const Routing& to) {
    std::int32_t* const expert = to.expert + row * settings.used;
    float* const weight = to.weight + row * settings.used;
    std::fill_n(expert, settings.used, -1);
    std::fill_n(weight, settings.used, 0.0F);
    if (empty) return;
    std::array<float, kMostExperts> scores, keys;
    for (std::size_t e = 0; e < static_cast<std::size_t>(settings.experts); ++e) {
        scores[e] = settings.sigmoid ? 1 / (1 + std::exp(-logits[e])) : logits[e];
        keys[e] = scores[e] + (settings.choice_bias != nullptr ? settings.choice_bias[e] : 0);
    }
    const Groups groups = best_groups(keys.data(), settings);
    const int each = settings.experts / settings.groups;
    const auto chosen = [&](std::int32_t e, int k) { return std::find(expert, expert + k, e) != expert + k; };
    const auto better = [&](std::int32_t e, std::int32_t best) {
        return best < 0 || keys[static_cast<std::size_t>(e)] > keys[static_cast<std::size_t>(best)];
    };
    for (int k = 0; k < settings.used; ++k) {
        std::int32_t best = -1;
        for (std::int32_t e = 0; e < settings.experts; ++e)
            if ((groups >> (e / each) & 1) != 0 && better(e, best) && !chosen(e, k)) best = e;
        expert[k] = best;
    }
    settings.sigmoid ? weigh_sigmoids(scores.data(), settings, expert, weight)
                     : weigh_softmax(logits, settings, expert, weight);
    for (int k = 0; k < settings.used; ++k) {
        expert[k] -= settings.held_begin;
        if (expert[k] < 0 || expert[k] >= to.experts) expert[k] = -1;
    }
}

void sort_by_expert(std::int64_t rows, const Routing& routing) {
    const std::int64_t pairs = rows * routing.used;
    std::fill_n(routing.begin, routing.experts + 1, 0);
    for (std::int64_t i = 0; i < pairs; ++i)
        if (routing.expert[i] >= 0) ++routing.begin[routing.expert[i] + 1];
    for (int e = 0; e < routing.experts; ++e) routing.begin[e + 1] += routing.begin[e];
    // Assigning places moves each begin to its end; the loop below moves them back.
    for (std::int64_t i = 0; i < pairs; ++i) {
        if (routing.expert[i] < 0) {
            routing.place[i] = -1;
            continue;
        }
        routing.place[i] = routing.begin[routing.expert[i]]++;
        routing.row[routing.place[i]] = static_cast<std::int32_t>(i / routing.used);
    }
    for (int e = routing.experts; e > 0; --e) routing.begin[e] = routing.begin[e - 1];
    routing.begin[0] = 0;
}

}  // namespace voltpile::llm
