// The order in which matrices have their columns, where it is not that of the rows that they multiply
// (ModelTensor::column_order).
#pragma once

#include <cstdint>
#include <memory>

#include "llm/decoder/weight_loader.h"

namespace voltpile::llm {

class InputOrder {
  public:
    InputOrder() = default;  // the order of the rows
    // The order of a matrix, and of all that multiply the same rows.
    InputOrder(const WeightLoader& loader, const ModelTensor& tensor);

    // Returns the rows for these matrices: x itself, or in `buffer`, for as many rows. buffer: for the rows
    // of the largest pass, from make_order_buffer().
    RmsNorm ordered(Ops& ops, const RmsNorm& x, const std::shared_ptr<OpsMemory>& buffer) const;

  private:
    std::unique_ptr<OpsMemory> order_;  // int32; null: the order of the rows
};

// Returns memory for so many rows of the hidden size; null if no matrix of the model needs it.
std::shared_ptr<OpsMemory> make_order_buffer(const ModelSource& model, Ops& ops, std::int64_t rows);

}  // namespace voltpile::llm
