// Batches of sequences for tests of attention.
#pragma once

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "llm/ops/batch.h"

namespace voltpile::llm {

// Sequences with `before` tokens in the cache and `now` tokens in this batch, followed by empty rows.
struct Sequences {
    std::vector<std::pair<int, int>> before_and_now;
    int empty_rows = 0;
};

// Builds a batch whose pages are distinct and in random order.
inline Batch make_batch(const Sequences& sequences, std::mt19937_64& random) {
    Batch batch;
    int pages = 0;
    for (const auto& [before, now] : sequences.before_and_now) {
        const int needed = (before + now + kv_page_tokens - 1) / kv_page_tokens;
        batch.max_pages = std::max(batch.max_pages, needed);
        pages += needed;
    }
    std::vector<std::int32_t> order(static_cast<std::size_t>(pages));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
    std::shuffle(order.begin(), order.end(), random);
    std::size_t next = 0;
    batch.row_begin = {0};
    for (std::size_t s = 0; s < sequences.before_and_now.size(); ++s) {
        const auto [before, now] = sequences.before_and_now[s];
        for (int p = before; p < before + now; ++p) {
            batch.token.push_back(0);
            batch.position.push_back(p);
            batch.sequence.push_back(static_cast<std::int32_t>(s));
        }
        batch.row_begin.push_back(static_cast<std::int32_t>(batch.token.size()));
        for (int page = 0; page < batch.max_pages; ++page) {
            const bool used = page * kv_page_tokens < before + now;
            batch.page_table.push_back(used ? order[next++] : 0);
        }
    }
    for (int i = 0; i < sequences.empty_rows; ++i) {
        batch.token.push_back(0);
        batch.position.push_back(0);
        batch.sequence.push_back(-1);
    }
    return batch;
}

}  // namespace voltpile::llm
