#include "llm/ops/routing.h"

#include <algorithm>
#include <cmath>

namespace voltpile::llm {

static_assert(sizeof(float) == sizeof(std::int32_t));

std::size_t routing_bytes(std::int64_t rows, int experts, int used) {
    return static_cast<std::size_t>(rows * (4 * used + 1) + experts + 1) * sizeof(float);
}

Routing routing_in(void* memory, std::int64_t rows, int experts, int used, bool shared) {
    Routing routing;
    routing.experts = experts;
    routing.used = used;
    routing.expert = static_cast<std::int32_t*>(memory);
    routing.place = routing.expert + rows * used;
    routing.row = routing.place + rows * used;
    routing.begin = routing.row + rows * used;
    routing.weight = reinterpret_cast<float*>(routing.begin + experts + 1);
    if (shared) routing.shared = routing.weight + rows * used;
    return routing;
}

void choose_experts(const float* logits, const RouterSettings& settings, bool empty, std::int64_t row,
                    const Routing& to) {
    std::int32_t* const expert = to.expert + row * settings.used;
    float* const weight = to.weight + row * settings.used;
    const auto chosen = [&](std::int32_t e, int k) { return std::find(expert, expert + k, e) != expert + k; };
    for (int k = 0; k < settings.used; ++k) {
        std::int32_t best = -1;
        for (std::int32_t e = 0; !empty && e < settings.experts; ++e)
            if ((best < 0 || logits[e] > logits[best]) && !chosen(e, k)) best = e;
        expert[k] = best;
        weight[k] = 0;
    }
    if (empty) return;
    const float largest = logits[expert[0]];
    float all = 0, used = 0;
    for (int e = 0; e < settings.experts; ++e) all += std::exp(logits[e] - largest);
    for (int k = 0; k < settings.used; ++k) used += weight[k] = std::exp(logits[expert[k]] - largest);
    for (int k = 0; k < settings.used; ++k) weight[k] /= settings.normalized ? used : all;
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
