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

void CoreExperts::grow_for(std::int64_t rows, std::int64_t columns, int used, const ExpertLayer& layer) {
    grow(x_, rows * columns);
    grow(gated_, rows * used * layer.gate->rows());
    if (layer.gate_up_adapters != nullptr) grow(added_, 2 * rows * used * layer.gate->rows());
    grow(routing_,
         static_cast<std::int64_t>(routing_bytes(rows, layer.gate->count(), used) / sizeof(routing_[0])));
}

void CoreExperts::prepare(const HostExpertShape& shape, const ExpertLayer& layer) {
    grow_for(shape.rows, shape.columns, shape.used, layer);
}

void CoreExperts::sum(const RoutedRows& rows, const ExpertLayer& layer, float* out) {
    const std::int64_t pairs = rows.rows * rows.used, columns = rows.columns;
    grow_for(rows.rows, columns, rows.used, layer);
    ops_.team().for_each(rows.rows, [&](std::int64_t r, int) {
        std::transform(rows.x + r * columns, rows.x + (r + 1) * columns, x_.data() + r * columns,
                       float_from_half);
    });
    const Routing routing = routing_in(routing_.data(), rows.rows, layer.gate->count(), rows.used, false);
    std::copy_n(rows.expert, pairs, routing.expert);
    std::copy_n(rows.weight, pairs, routing.weight);
    sort_by_expert(rows.rows, routing);
    const HiddenRows gated{gated_.data(), pairs, layer.gate->rows()};
    BatchView batch;
    batch.rows = static_cast<int>(rows.rows);
    batch.adapter = rows.adapter;
    run_experts(ops_, {x_.data(), rows.rows, columns}, layer, batch, routing, added_.data(), gated,
                {out, rows.rows, layer.down->rows()});
}

}  // namespace voltpile::llm
