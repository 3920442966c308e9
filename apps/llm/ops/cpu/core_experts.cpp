#include "llm/ops/cpu/core_experts.h"

#include <algorithm>

#include "base/half.h"
#include "llm/ops/routing.h"

namespace voltpile::llm {
namespace {

template <class T>
void grow(std::vector<T>& memory, std::int64_t size) {
    memory.resize(std::max(memory.size(), static_cast<std::size_t>(size)));
}

}  // namespace

void CoreExperts::sum(const RoutedRows& rows, const HostExpertLayer& layer, float* out) {
    const std::int64_t pairs = rows.rows * rows.used, columns = rows.columns;
    grow(x_, rows.rows * columns);
    ops_.team().for_each(rows.rows, [&](std::int64_t r, int) {
        std::transform(rows.x + r * columns, rows.x + (r + 1) * columns, x_.data() + r * columns,
                       float_from_half);
    });
    const int experts = layer.gate->count();
    grow(routing_,
         static_cast<std::int64_t>(routing_bytes(rows.rows, experts, rows.used) / sizeof(routing_[0])));
    const Routing routing = routing_in(routing_.data(), rows.rows, experts, rows.used, false);
    std::copy_n(rows.expert, pairs, routing.expert);
    std::copy_n(rows.weight, pairs, routing.weight);
    sort_by_expert(rows.rows, routing);
    grow(gated_, pairs * layer.gate->rows());
    const HiddenRows gated{gated_.data(), pairs, layer.gate->rows()};
    ops_.gated_experts({x_.data(), rows.rows, columns}, *layer.gate, *layer.up, layer.activation, routing,
                       gated);
    ops_.sum_experts(gated, *layer.down, routing, {out, rows.rows, layer.down->rows()});
}

}  // namespace voltpile::llm
