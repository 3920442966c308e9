#include "llm/model/packed/sort_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>

namespace voltpile::llm {
namespace {

using Order = std::span<const std::int32_t>;

class LayerSorter {
  public:
    LayerSorter(std::vector<ModelTensor>& tensors, std::vector<std::unique_ptr<PackedMatrix>>& packed)
        : tensors_(tensors), packed_(packed) {}

    void sort(std::int64_t layer) {
        if (const Order order = common_order(layer, {"attn_q", "attn_k", "attn_v"}); !order.empty())
            for (const char* name : {"attn_q", "attn_k", "attn_v"}) arrange(*find(layer, name), order, {});
        ModelTensor *const gate = find(layer, "ffn_gate"), *const up = find(layer, "ffn_up");
        ModelTensor* const down = find(layer, "ffn_down");
        if (gate == nullptr || up == nullptr || down == nullptr) return;
        const Order inputs = common_order(layer, {"ffn_gate", "ffn_up"});
        Order hidden = common_order(layer, {"ffn_down"});
        if (!can_arrange(*gate) || !can_arrange(*up)) hidden = {};
        if (!hidden.empty()) hidden = arrange(*down, hidden, {});
        down->column_order = {};  // the rows of gate and up have this order
        if (inputs.empty() && hidden.empty()) return;
        for (ModelTensor* const tensor : {gate, up}) arrange(*tensor, inputs, hidden);
    }

  private:
    ModelTensor* find(std::int64_t layer, std::string_view name) const {
        const std::string wanted = fmt::format("blk.{}.{}.weight", layer, name);
        const auto found = std::ranges::find(tensors_, wanted, &ModelTensor::name);
        return found == tensors_.end() ? nullptr : &*found;
    }

    static bool can_arrange(const ModelTensor& tensor) {
        return tensor.packed != nullptr && tensor.packed->can_arrange();
    }

    // Returns the order of the columns of all these; empty if they have none, or different ones.
    Order common_order(std::int64_t layer, std::initializer_list<const char*> names) const {
        Order common;
        for (const char* name : names) {
            const ModelTensor* const tensor = find(layer, name);
            const Order order =
                tensor != nullptr && tensor->packed != nullptr ? tensor->packed->sorted_columns() : Order{};
            if (order.empty() || (!common.empty() && !std::ranges::equal(order, common))) return {};
            common = order;
        }
        return common;
    }

    // Returns the order of the tensor's columns as it refers to it.
    Order arrange(ModelTensor& tensor, Order columns, Order rows) {
        auto matrix = tensor.packed->arranged({.row_begin = tensor.packed_row,
                                               .rows = tensor.rows,
                                               .row_order = rows,
                                               .sort_columns = !columns.empty()});
        tensor.packed_row = 0;
        tensor.packed = packed_.emplace_back(std::move(matrix)).get();
        tensor.format = tensor.packed->format();
        tensor.column_order = columns.empty() ? Order{} : tensor.packed->sorted_columns();
        return tensor.column_order;
    }

    std::vector<ModelTensor>& tensors_;
    std::vector<std::unique_ptr<PackedMatrix>>& packed_;
};

}  // namespace

void sort_columns(std::vector<ModelTensor>& tensors, const ModelConfig& config,
                  std::vector<std::unique_ptr<PackedMatrix>>& packed) {
    if (std::ranges::none_of(packed, [](const auto& matrix) { return matrix->is_reordered(); })) return;
    LayerSorter sorter(tensors, packed);
    for (std::int64_t layer = 0; layer < config.layers; ++layer) sorter.sort(layer);
}

}  // namespace voltpile::llm
