// What the rows of one pass are: a ragged batch of sequences. Plain data.
#pragma once

#include <cstdint>
#include <vector>

namespace voltpile::llm {

constexpr int kv_page_tokens = 16;

// Of any number: rounding up by a sum would overflow for the largest.
template <class Integer>
constexpr Integer pages_for(Integer tokens) {
    return tokens / kv_page_tokens + (tokens % kv_page_tokens != 0 ? 1 : 0);
}

// Arrays lie in the memory of the processor that the operations run on; the numbers are the host's, and in a
// captured pass the largest of those that may be replayed with it.
struct BatchView {
    int rows = 0;  // tokens of all sequences together
    int sequences = 0;
    int logits = 0;       // rows whose logits are wanted
    int max_pages = 0;    // columns of page_table
    int max_context = 0;  // no position is as large
    int max_new = 0;      // no sequence has more rows here

    // (rows). -1 - k stands for drawn[k].
    const std::int32_t* token = nullptr;
    const std::int32_t* drawn = nullptr;     // by the pass before; nullptr: no token is negative
    const std::int32_t* position = nullptr;  // (rows): in its sequence, from 0
    const std::int32_t* sequence =
        nullptr;  // (rows): index into page_table's rows; a sequence's rows are adjacent and
                  // in order; -1: an empty row of a captured pass, to be passed over
    const std::int32_t* row_begin =
        nullptr;  // (sequences + 1): sequence s has rows row_begin[s] .. row_begin[s + 1]
    const std::int32_t* page_table = nullptr;  // (sequences, max_pages)
    const std::int32_t* logit_row = nullptr;   // (logits), ascending

    bool operator==(const BatchView&) const = default;
};

// The same on the host, to be filled and uploaded.
struct Batch {
    std::vector<std::int32_t> token, position, sequence, row_begin, page_table, logit_row;
    int max_pages = 0;
};

}  // namespace voltpile::llm
