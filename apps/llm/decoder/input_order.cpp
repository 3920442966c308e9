#include "llm/decoder/input_order.h"

#include "llm/model/model_memory.h"

namespace voltpile::llm {

InputOrder::InputOrder(const WeightLoader& loader, const ModelTensor& tensor) {
    if (tensor.column_order.empty()) return;
    order_ = loader.ops().allocate(tensor.column_order.size_bytes());
    loader.ops().upload(order_->data(), tensor.column_order.data(), tensor.column_order.size_bytes());
}

RmsNorm InputOrder::ordered(Ops& ops, const RmsNorm& x, const std::shared_ptr<OpsMemory>& buffer) const {
    if (!order_) return x;
    const HiddenRows rows = ops.normed(x);
    RmsNorm out;
    out.out = {buffer->data(), rows.rows, rows.columns};
    out.done = true;
    ops.gather_columns(rows, static_cast<const std::int32_t*>(order_->data()), out.out);
    return out;
}

std::shared_ptr<OpsMemory> make_order_buffer(const ModelSource& model, Ops& ops, std::int64_t rows) {
    if (!has_ordered_columns(model)) return nullptr;
    return ops.allocate(static_cast<std::size_t>(rows * model.config().hidden) *
                        bytes_of(ops.hidden_element()));
}

}  // namespace voltpile::llm
