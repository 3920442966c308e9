// Sums over a tensor-parallel group, joined with what follows them: the addition to the residual stream and
// the norm. One exchange between the devices instead of a collective and another operation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "llm/model/gpu_memory.h"
#include "llm/ops/operands.h"

namespace voltpile::llm {

struct AddedRows;
struct FloatRows;

// The most columns of a row; they are a multiple of 8.
constexpr std::int64_t most_joint_columns = 16384;
constexpr bool joint_sums_fit(std::int64_t columns) {
    return columns % 8 == 0 && columns <= most_joint_columns;
}

// Sums of at most so many numbers are not split (JointSums::splits()). To split them would need a second
// exchange, which takes longer (measured).
constexpr std::int64_t most_whole_numbers = 1 << 17;

// Returns how many of the rows a rank owns, if they are split. The last ranks may have fewer.
constexpr std::int64_t joint_share(std::int64_t rows, std::int64_t ranks) {
    return (rows + ranks - 1) / ranks;
}

// Returns the bytes of memory that each rank shares with the others, for passes of at most these rows: the
// outputs, what the others send, and words, all fp16.
constexpr std::size_t joint_area_bytes(std::int64_t ranks, std::int64_t rows, std::int64_t columns) {
    const std::int64_t outputs = rows * columns, sent = ranks * joint_share(rows, ranks) * columns;
    return static_cast<std::size_t>((outputs + sent) * 2 + joint_word_bytes(ranks, rows, columns));
}

// Whose output a sum adds.
enum class JointPart { Attention, FeedForward };

// Created by Ops::make_joint_sums(). All layers share it, one after the other.
class JointSums {
  public:
    virtual ~JointSums() = default;

    // The output of add_rms_norm(), as HiddenRows of its rows. All ranks write into this memory.
    virtual void* normed() const = 0;

    // As Ops::add_rms_norm() into normed(), with the sum of `delta` over the ranks instead of delta; the bias
    // counts once. Ranks send delta / 16, rounded to fp16 (magnitudes above half_limit() become that), and
    // sum in fp32 in rank order, so a row does not depend on the number of rows. All ranks get the same
    // output, and all trip the sentinel. But if splits(x.rows), rank r updates only these rows of x: r *
    // share to (r + 1) * share - 1, with joint_share(). Collective, as calls of a
    // StreamCommunicator.
    virtual void add_rms_norm(FloatRows x, AddedRows delta, const float* weight, float eps,
                              SentinelPlace place) = 0;
    virtual bool splits(std::int64_t rows) const = 0;
};

}  // namespace voltpile::llm
