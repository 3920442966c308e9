// How a warpgroup copies the keys and values of a context into the stages of an attention block.
#pragma once

#include "llm/ops/cuda/sm90/attention_block.cuh"

namespace voltpile::llm {

template <int width>
__device__ void copy_stage(const void* cache, const View& view, int stage_index, std::int64_t page_of_lane,
                           Swizzled<width, block_tokens>& to) {
    constexpr int pieces = width / 8, step = warpgroup_threads / pieces;  // tokens at a time
    const int t = static_cast<int>(threadIdx.x) % warpgroup_threads, piece = t % pieces, row = t / pieces;
    const auto* from = static_cast<const __half*>(cache) + row * width + piece * 8;
    const int first = stage_index * block_tokens + row - view.low;
    const auto seen = static_cast<unsigned>(view.high - view.low);
#pragma unroll
    for (int page = 0; page < block_pages; ++page) {
        const __half* from_page =
            from + __shfl_sync(0xffffffffu, page_of_lane, page) * (kv_page_tokens * width);
#pragma unroll
        for (int i = 0; i < kv_page_tokens; i += step) {
            const int token = page * kv_page_tokens + i;
            copy_alone(piece_of<width, block_tokens>(to, token + row, piece), from_page + i * width,
                       static_cast<unsigned>(first + token) <= seen);
        }
    }
}

// All stages that the view names, the first or the last one first. Tokens outside of what the rows see become
// zeros.
template <int width, bool first_to_last>
__device__ void copy_context(const AttentionArgs& a, const View& view, Shared<width>& shared) {
    constexpr int step = first_to_last ? 1 : -1;
    const int lane = static_cast<int>(threadIdx.x) % 32, kv_head = static_cast<int>(blockIdx.x);
    const int begin = first_to_last ? view.begin : view.end - 1,
              end = first_to_last ? view.end : view.begin - 1;
    const auto page_of_lane = [&](int n) {
        // Pages outside of what the rows see may belong to another sequence by now.
        const int page = min(max(n * block_pages + lane % block_pages, view.low / kv_page_tokens),
                             view.high / kv_page_tokens);
        return page_index(a, shared.piece.sequence, page, kv_head);
    };
    Turn keys_turn, values_turn;
    const auto copy_keys = [&](int n, std::int64_t page) {
        shared.keys_read[keys_turn.stage].wait(keys_turn.parity ^ 1);
        copy_stage<width>(a.cache.keys, view, n, page, shared.keys[keys_turn.stage]);
        shared.keys_there[keys_turn.stage].arrive_after_copies();
        keys_turn.advance();
    };
    std::int64_t page = page_of_lane(begin);
    copy_keys(begin, page);
    for (int n = begin; n != end; n += step) {
        const std::int64_t next = page_of_lane(n + step);
        if (n + step != end) copy_keys(n + step, next);
        shared.values_read[values_turn.stage].wait(values_turn.parity ^ 1);
        copy_stage<width>(a.cache.values, view, n, page, shared.values[values_turn.stage]);
        shared.values_there[values_turn.stage].arrive_after_copies();
        values_turn.advance();
        page = next;
    }
}

}  // namespace voltpile::llm
