#include "llm/decoder/pass_runner.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace voltpile::llm {

PassRunner::PassRunner(Decoder& decoder, Ops& ops, const BatchLimits& limits)
    : decoder_(decoder),
      ops_(ops),
      batches_(ops, limits),
      samplings_(ops),
      most_rows_(std::max(limits.logits, 1)),
      drawn_(ops.allocate(2 * sizeof(std::int32_t) * static_cast<std::size_t>(most_rows_))),
      seen_(2 * static_cast<std::size_t>(most_rows_)) {}

std::vector<DrawnToken> PassRunner::draw(FloatRows logits, std::span<const SamplingRow> sampling) {
    const auto rows = static_cast<std::size_t>(logits.rows);
    if (sampling.size() != rows || logits.rows > most_rows_)
        throw std::logic_error("as many rows of logits as are drawn from");
    if (rows == 0) return {};
    auto* const tokens = static_cast<std::int32_t*>(drawn_->data());
    ops_.sample(logits, samplings_.upload(sampling), tokens, reinterpret_cast<float*>(tokens + rows));
    ops_.download(seen_.data(), tokens, 2 * rows * sizeof(std::int32_t));
    std::vector<DrawnToken> drawn(rows);
    for (std::size_t r = 0; r < rows; ++r) drawn[r] = {seen_[r], std::bit_cast<float>(seen_[rows + r])};
    return drawn;
}

}  // namespace voltpile::llm
