#include "llm/decoder/state_fusion.h"

#include <algorithm>
#include <utility>

namespace voltpile::llm {

StateFusion::StateFusion(Ops& ops, std::vector<int> layers, std::int64_t rows, std::int64_t hidden)
    : ops_(ops), layers_(std::move(layers)), hidden_(hidden) {
    const std::size_t bytes = static_cast<std::size_t>(rows * hidden) * bytes_of(ops.hidden_element());
    states_ = ops.allocate(layers_.size() * bytes);
    fused_ = ops.allocate(bytes);
}

bool StateFusion::reads(int layer) const {
    return std::ranges::find(layers_, layer) != layers_.end();
}

void StateFusion::take(int layer, HiddenRows state) {
    const std::int64_t place = std::ranges::find(layers_, layer) - layers_.begin();
    ops_.copy_heads(state, {0, hidden_, hidden_}, 1, states(state.rows), {place * hidden_, hidden_, hidden_});
}

HiddenRows StateFusion::taken_before(int end, std::int64_t rows) const {
    return std::ranges::any_of(layers_, [&](int layer) { return layer < end; }) ? states(rows) : HiddenRows{};
}

HiddenRows StateFusion::fuse(std::int64_t rows) {
    const HiddenRows fused{fused_->data(), rows, hidden_};
    const WeightMatrix* const weights[] = {fc_};
    ops_.matmul(states(rows), weights, fused);
    return fused;
}

}  // namespace voltpile::llm
