#include "llm/ops/cuda/attention_tiles.cuh"

namespace voltpile::llm {

namespace {

using namespace nvcuda;

// Computes the attention of tiles.segment over the block's span. The scores of tokens that a row does not see
// do not change its result by a single bit, so the result does not depend on the row's place in a tile.
template <int width, KvElement element, bool capped>
__device__ void attend(const AttentionArgs& a, Tiles<width>& tiles, int launch_begin) {
    const int t = static_cast<int>(threadIdx.x), lane = t % 32;
    const int team = t / 64, member = t / 32 % 2;
    const int dim = a.head_dim, span = static_cast<int>(blockIdx.z);
    const Segment& segment = tiles.segment;
    const int first_query = a.batch.position[segment.row];
    const int span_begin = span * span_tokens, span_end = span_begin + span_tokens;
    const int last = min(first_query + segment.rows, span_end) - 1;  // position
    const int first = max(first_position(a, first_query), span_begin);
    if (first > last) return;
    constexpr int columns = part_columns<width>, parts = column_parts<width>;
    const auto* qkv = static_cast<const __half*>(a.qkv);
    const auto fetch_query = [&](int begin) {
        fetch<columns>(tiles.query, dim - begin, [&](int r, int piece) {
            const TeamRows rows = team_rows(segment, r / 16);
            const auto* row = qkv + qkv_row(a, segment.row + rows.first + r % 16) + rows.head * dim + begin;
            const bool there = r % 16 < rows.count;
            return there ? reinterpret_cast<const uint4*>(row)[piece] : make_uint4(0, 0, 0, 0);
        });
    };
    if constexpr (parts == 1) fetch_query(0);
    const int page = span_begin / kv_page_tokens + t;
    if (page >= first / kv_page_tokens && page <= last / kv_page_tokens)
        tiles.page[t] = page_index(a, segment.sequence, page, segment.head / (a.heads / a.kv_heads));

    // Find the row of each accumulator element by loading row indices: the mapping differs between GPUs.
    float(*score)[score_stride] = tiles.score[team];
    auto* weight = reinterpret_cast<__half*>(&score[0][0]);
    for (int i = lane; i < 256; i += 32) score[i / 16][i % 16] = static_cast<float>(i / 16);
    __syncthreads();  // both warps of a team write them
    // Slices of 16 columns per warp and part of the columns; the warps of a team alternate.
    constexpr int slices = columns / 32, elements = Accumulator::num_elements;
    Accumulator sum[parts][slices];
    int row_of[elements];
    wmma::load_matrix_sync(sum[0][0], &score[0][0], score_stride, wmma::mem_row_major);
#pragma unroll
    for (int i = 0; i < elements; ++i) row_of[i] = static_cast<int>(sum[0][0].x[i]);
#pragma unroll
    for (auto& of_part : sum) {
#pragma unroll
        for (auto& s : of_part) wmma::fill_fragment(s, 0.0f);
    }

    // The positions that any row of the team sees; none if the team has no rows.
    const TeamRows rows = team_rows(segment, team);
    const int team_query = first_query + rows.first;
    const int team_last = rows.count > 0 ? team_query + rows.count - 1 : -1;
    const int team_first = first_position(a, team_query);
    // Each warp computes the softmax of 8 rows; lane l keeps the sums of the team's row softened + l.
    const int softened = member * 8;
    const auto map = score_map<capped>(a);
    SplitSum all{-INFINITY, 0};

    for (int tile = first / split_tokens * split_tokens; tile <= last; tile += split_tokens) {
        const bool busy = tile <= team_last && tile + split_tokens > team_first;
        const std::int32_t* pages = tiles.page + (tile - span_begin) / kv_page_tokens;
        TokenFetch<columns, element> fetch_cached;
        constexpr int together = split_tokens / 16 / 2;
        const int token = member * together * 16;
        Accumulator scores[together];
#pragma unroll 1
        for (int begin = 0; begin < width; begin += columns) {
            __syncthreads();
            fetch_cached.start(tiles.cached, a.cache.keys, a.cache.key_scales, pages, dim, begin, tile, first,
                               last);
            if constexpr (parts > 1) fetch_query(begin);
            fetch_cached.store(tiles.cached);
            wait_for_copies();
            __syncthreads();
            if (!busy) continue;
            if (begin == 0) {
#pragma unroll
                for (auto& s : scores) wmma::fill_fragment(s, 0.0f);
            }
#pragma unroll
            for (int d = 0; d < columns; d += 16) {
                wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> q;
                wmma::load_matrix_sync(q, &tiles.query[team * 16][d], Tiles<width>::stride);
#pragma unroll
                for (int n = 0; n < together; ++n) {
                    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> k;
                    wmma::load_matrix_sync(k, &tiles.cached[token + n * 16][d], Tiles<width>::stride);
                    wmma::mma_sync(scores[n], q, k, scores[n]);
                }
            }
        }
        if (busy) {
#pragma unroll
            for (int n = 0; n < together; ++n) {
                wmma::store_matrix_sync(&score[0][token + n * 16], scores[n], score_stride,
                                        wmma::mem_row_major);
            }
        }
        __syncthreads();
        const auto start_values = [&](int begin) {
            fetch_cached.start(tiles.cached, a.cache.values, a.cache.value_scales, pages, dim, begin, tile,
                               first, last);
            fetch_cached.store(tiles.cached);
        };
        start_values(0);

        // Rows outside the segment are computed, too, and ignored later.
        SplitSum mine{-INFINITY, 0};
        for (int r = softened; busy && r < softened + 8; r += 4) {
            SplitSum of_rows[4];
            soften_split(
                score[r], score_stride, weight + r * weight_stride, weight_stride, tile, map,
                [&](int row) {
                    const int position = team_query + r + row;
                    return SeenRange{first_position(a, position), position};
                },
                of_rows);
#pragma unroll
            for (int row = 0; row < 4; ++row) {
                if (softened + lane == r + row) mine = of_rows[row];
            }
        }
        if (lane < 8) tiles.factors[team][softened + lane] = join_split(all, mine);
#pragma unroll
        for (int of_columns = 0; of_columns < parts; ++of_columns) {
            if (of_columns > 0) {
                __syncthreads();
                start_values(of_columns * columns);
            }
            wait_for_copies();
            __syncthreads();
            if (!busy) continue;
            Accumulator part[slices];
#pragma unroll
            for (auto& p : part) wmma::fill_fragment(p, 0.0f);
#pragma unroll 1
            for (int k = 0; k < split_tokens; k += 16) {
                wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> w;
                wmma::load_matrix_sync(w, weight + k, weight_stride);
#pragma unroll
                for (int n = 0; n < slices; ++n) {
                    const int d = (2 * n + member) * 16;
                    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> v;
                    wmma::load_matrix_sync(v, &tiles.cached[k][d], Tiles<width>::stride);
                    wmma::mma_sync(part[n], w, v, part[n]);
                }
            }
#pragma unroll
            for (int i = 0; i < elements; ++i) {
                const JoinFactors factors = tiles.factors[team][row_of[i]];
#pragma unroll
                for (int n = 0; n < slices; ++n) {
                    float& value = sum[of_columns][n].x[i];
                    value = join_value(value, part[n].x[i], factors);
                }
            }
        }
    }

    // Transpose the results through the buffer of keys and values, a quarter per team.
    constexpr int result_stride = columns + 4;
    static_assert(teams * 16 * result_stride * sizeof(float) <= sizeof(tiles.cached));
    float* result = reinterpret_cast<float*>(&tiles.cached[0][0]) + team * 16 * result_stride;
    const int head = team_rows(segment, team).head, team_row = segment.row + team_rows(segment, team).first;
#pragma unroll
    for (int of_columns = 0; of_columns < parts; ++of_columns) {
        __syncthreads();
#pragma unroll
        for (int n = 0; n < slices; ++n) {
            const int d = (2 * n + member) * 16;
            wmma::store_matrix_sync(result + d, sum[of_columns][n], result_stride, wmma::mem_row_major);
        }
        __syncthreads();
        const int begin = of_columns * columns, end = min(dim - begin, columns);
        for (int r = softened; r < softened + 8; ++r) {
            const float largest = __shfl_sync(0xffffffffu, all.largest, r - softened);
            const float total = __shfl_sync(0xffffffffu, all.total, r - softened);
            const int position = team_query + r, sees_from = first_position(a, position);
            if (position > team_last || position < span_begin || sees_from >= span_end) continue;
            const float* values = result + r * result_stride;
            if (sees_from >= span_begin && position < span_end) {
                const float divisor = denominator(a, head, {largest, total});
                __half* const to = out_head(a, team_row + r, head) + begin;
                for (int d = lane; d < end; d += 32)
                    to[d] = limited_half(__fdiv_rn(values[d], divisor), a.limit);
                continue;
            }
            float* to = part_of(a, team_row + r - launch_begin, head, span, static_cast<int>(gridDim.z));
            if (lane == 0) {
                to[0] = largest;
                to[1] = total;
            }
            for (int d = lane; d < end; d += 32) to[2 + begin + d] = values[d];
        }
    }
    __syncthreads();
}

// Divides the rows of a block into segments, one thread per row. Segments count from the sequence's first row
// in the launch, so that they depend only on that sequence. A segment that begins in the previous block has a
// negative begin and belongs to that block. Indices count from the block's first row; the launch ends at row
// `launch_end` of the batch.
template <int width>
__device__ void mark_segments(const AttentionArgs& a, Tiles<width>& tiles, int launch_begin, int launch_end) {
    const int r = static_cast<int>(threadIdx.x), row = tiles.first_row + r;
    const int s = row < launch_end ? a.batch.sequence[row] : not_ours;
    const bool ours = s >= 0 && single_row(a, s) < 0;
    tiles.sequence[r] = s >= 0 && !ours ? not_ours : s;
    tiles.segment_begin[r] = r;
    tiles.segment_end[r] = row < launch_end ? r + 1 : tile_rows_of_queries;
    if (!ours) return;
    const int behind = (row - max(launch_begin, a.batch.row_begin[s])) % tile_rows_of_queries;
    tiles.segment_begin[r] = r - behind;
    tiles.segment_end[r] =
        min(min(launch_end, a.batch.row_begin[s + 1]) - tiles.first_row, r - behind + tile_rows_of_queries);
}

// Grid: (rows first to first + count - 1 in blocks of 64, KV heads * tiles of their query heads, spans).
template <int width, KvElement element, bool capped>
__global__ void __launch_bounds__(attention_threads, prompt_blocks<width>)
    prompt_attention(const AttentionArgs a, int first, int count) {
    extern __shared__ __align__(32) unsigned char shared[];
    auto& tiles = *reinterpret_cast<Tiles<width>*>(shared);
    const int t = static_cast<int>(threadIdx.x), y = static_cast<int>(blockIdx.y);
    if (t == 0) {
        // The last rows start first, because they have the longest contexts.
        tiles.first_row = first + static_cast<int>(gridDim.x - 1 - blockIdx.x) * tile_rows_of_queries;
        const int group = a.heads / a.kv_heads, tiles_of_group = static_cast<int>(gridDim.y) / a.kv_heads;
        tiles.group_begin = y / tiles_of_group * group;
        tiles.group_end = tiles.group_begin + group;
        tiles.tile_of_group = y % tiles_of_group;
    }
    __syncthreads();
    if (t < tile_rows_of_queries) mark_segments(a, tiles, first, first + count);
    __syncthreads();
    for (int r = 0; r < tile_rows_of_queries;) {
        const int row = tiles.first_row + r, sequence = tiles.sequence[r], rows = tiles.segment_end[r] - r;
        if (sequence == -1 && blockIdx.z == 0 && t < a.head_dim) {
            for (int head = y; head < a.heads; head += static_cast<int>(gridDim.y))
                out_head(a, row, head)[t] = __half(0.0f);
        }
        const int head = tiles.group_begin + tiles.tile_of_group * heads_of_tile(rows);
        const int heads = min(heads_of_tile(rows), tiles.group_end - head);
        if (sequence < 0 || tiles.segment_begin[r] < r || heads <= 0) {
            r += rows;
            continue;
        }
        __syncthreads();
        if (t == 0) tiles.segment = {sequence, row, rows, head, heads};
        __syncthreads();
        attend<width, element, capped>(a, tiles, first);
        r = tiles.segment.row + tiles.segment.rows - tiles.first_row;  // recomputed to save a register
    }
}

template <int width, bool capped>
void start(const AttentionArgs& args, std::size_t scratch_bytes, const Stream& stream) {
    static_assert(sizeof(Tiles<width>) <= 96 * 1024);
    const auto kernel = with_element(args.cache.element,
                                     [](auto element) { return prompt_attention<width, element, capped>; });
    cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(sizeof(Tiles<width>))),
               "shared memory of the attention");
    const Spans spans{spans_of(args.batch.max_context), span_tokens};
    int each = args.batch.rows;
    if (spans.count > 1) {
        const std::size_t row_bytes =
            static_cast<std::size_t>(args.heads) * spans.count * part_floats(args.head_dim) * sizeof(float);
        const auto fit =
            static_cast<int>(min(max(scratch_bytes / row_bytes, std::size_t{1}), std::size_t{32768}));
        each = fit < tile_rows_of_queries ? fit : fit / tile_rows_of_queries * tile_rows_of_queries;
    }
    const int group = args.heads / args.kv_heads;
    const int together = heads_of_tile(min(args.batch.max_new, tile_rows_of_queries));
    const int tiles_of_group = (group + together - 1) / together;
    for (int first = 0; first < args.batch.rows; first += each) {
        const int rows = min(each, args.batch.rows - first);
        launch("attention of prompts", kernel,
               {(rows + tile_rows_of_queries - 1) / tile_rows_of_queries, attention_threads,
                sizeof(Tiles<width>), args.kv_heads * tiles_of_group, spans.count},
               stream, args, first, rows);
        if (spans.count > 1) launch_join_spans(args, spans, first, rows, stream);
    }
}

}  // namespace

void launch_prompt_attention(const AttentionArgs& args, std::size_t scratch_bytes, const Stream& stream) {
    const bool capped = args.soft_cap > 0;
    if (args.head_dim <= 64 && !capped)
        start<64, false>(args, scratch_bytes, stream);
    else if (args.head_dim <= 128)
        (capped ? start<128, true> : start<128, false>)(args, scratch_bytes, stream);
    else
        (capped ? start<256, true> : start<256, false>)(args, scratch_bytes, stream);
}

}  // namespace voltpile::llm
