// The batch of one pass: ragged, with any number of rows for each sequence. Plain data.
#pragma once

#include <cstdint>

namespace voltpile::llm {

constexpr int kv_page_tokens = 16;  // tokens in a page of the KV cache

// Returns the number of pages that hold `tokens` tokens. Cannot overflow, unlike (tokens + 15) / 16.
template <class Integer>
constexpr Integer pages_for(Integer tokens) {
    return tokens / kv_page_tokens + (tokens % kv_page_tokens != 0 ? 1 : 0);
}

// A batch as the operations see it. The arrays are in the memory of the device that runs the operations and
// are not owned. The counts are host values; in a captured pass they are upper bounds for all its replays.
struct BatchView {
    int rows = 0;  // tokens of all sequences together
    int sequences = 0;
    int logits = 0;         // rows whose logits are computed
    int max_pages = 0;      // columns of page_table
    int max_context = 0;    // every position is below this
    int max_new = 0;        // no sequence has more rows in this batch
    int prompt_pages = 0;   // of the contexts of all sequences with several rows
    bool replayed = false;  // passes with these counts are recorded: this one must do the same

    // (rows): the row's token; a negative value -1 - k stands for drawn[k].
    const std::int32_t* token = nullptr;
    // Tokens that the previous pass drew. nullptr: no token is negative.
    const std::int32_t* drawn = nullptr;
    // (rows): the position in the sequence, from 0.
    const std::int32_t* position = nullptr;
    // (rows): the row of page_table. The rows of a sequence are adjacent and in order. -1: an empty row of a
    // captured pass; operations skip it.
    const std::int32_t* sequence = nullptr;
    // (sequences + 1): sequence s has the rows row_begin[s] to row_begin[s + 1] - 1.
    const std::int32_t* row_begin = nullptr;
    const std::int32_t* page_table = nullptr;  // (sequences, max_pages): page indices
    const std::int32_t* logit_row = nullptr;   // (logits): rows, ascending
    // (rows): the row's adapter, in the order in which they were loaded; -1: none. nullptr: no row has one.
    const std::int32_t* adapter = nullptr;
    const std::int32_t* adapter_order = nullptr;  // order_of(adapter), on GPUs if there is an adapter
    // (rows): the row's index in Decoder::hidden_rows(), for a prediction layer. nullptr in other passes.
    const std::int32_t* hidden_row = nullptr;

    bool operator==(const BatchView&) const = default;
};

}  // namespace voltpile::llm
