// The shared memory of a block of decode attention, what it works on, and its steps.
#pragma once

#include "llm/ops/cuda/attention_tiles.cuh"
#include "llm/ops/cuda/early_launch.cuh"

namespace voltpile::llm {

constexpr int split_pages = split_tokens / kv_page_tokens;
constexpr int tile_heads = 16;  // query heads of a KV head in a tensor core tile

template <int width>
struct SplitTiles {
    static constexpr int columns = part_columns<width>, parts = column_parts<width>;
    static constexpr int stride = columns + 8;
    __half query[tile_heads][width + 8];
    float score[parts][tile_heads][score_stride];  // those of tokens in [0]; later result()
    SplitSum all[tile_heads];                      // over the block's splits
    JoinFactors factors[tile_heads];
    std::int32_t page[span_splits * split_pages];  // page_index() of the block's pages
    __half own[2][width];                          // key and value of the row's token
    float2 turns[width / 2];                       // fill_turns()
    // Keys in the first buffer. Values in the second if both can be copied at the same time, otherwise also
    // in the first. Heads with two parts of columns use one buffer per part, first for keys, then for values.
    __half cached[2][split_tokens][stride];

    // The sum of values of column d of a head.
    __device__ const float& result(int head, int d) const { return score[d / columns][head][d % columns]; }
};
template <KvElement element>
constexpr bool copies_both = copies_run_alone&& element == KvElement::F16;
// Values are loaded before the keys have arrived, by asynchronous copies or, if quantized, to registers; for
// fp16 there are not enough registers.
template <KvElement element>
constexpr bool values_early = copies_both<element> || element != KvElement::F16;

// Blocks per multiprocessor for which there are registers; two fit in 96 KB of shared memory. Loads to
// registers need more blocks, where they fit, to hide their latency. Where kernels launch early, the
// registers are those that a matrix-vector product before leaves free: see MatvecShape.
template <KvElement element>
constexpr int blocks_for = element == KvElement::F16 ? (begins_early ? 4 : 2)
                           : copies_run_alone        ? 3
                                                     : 2;

// How a launch divides its work.
struct DecodeShape {
    int splits_each;  // of a block: 1, or span_splits
    int heads_each;   // query heads of a block, at most tile_heads
    int parts;        // blocks of splits_each splits
    int tiles;        // of heads_each heads, of all KV heads
    bool clusters;    // the parts of a sequence and tile are a cluster's, which joins them
    int blocks(int sequences) const { return parts * tiles * sequences; }
};

// What a block works on: the tokens first to last of a sequence with one row, and some heads of a KV head.
struct DecodePlace {
    int sequence, row, position;
    int first, last;
    bool works;  // there are such tokens
    int kv_head, first_head, heads;
    int tile;  // of the KV head's heads

    __device__ DecodePlace(const AttentionArgs& a, const DecodeShape& shape, int of_sequence)
        : sequence(of_sequence) {
        find_row(a.batch);
        const int tokens = shape.splits_each * split_tokens, begin = static_cast<int>(blockIdx.x) * tokens;
        first = max(first_position(a, position), begin);
        last = min(position, begin + tokens - 1);
        works = row >= 0 && first <= last;
        const int group = a.heads / a.kv_heads;
        const int tiles_of_group = (group + shape.heads_each - 1) / shape.heads_each;
        kv_head = static_cast<int>(blockIdx.y) / tiles_of_group;
        tile = static_cast<int>(blockIdx.y) % tiles_of_group;
        first_head = kv_head * group + tile * shape.heads_each;
        heads = min(shape.heads_each, (kv_head + 1) * group - first_head);
    }
    // Returns whether the block has the row's own token.
    __device__ bool has_own() const { return last == position; }

  private:
    // As single_row(). Where all sequences have one row, sequence s has row s: that row's numbers are loaded
    // together with its index, because loads one after the other take long.
    __device__ void find_row(const BatchView& batch) {
        row = -1;
        position = 0;
        if (sequence >= batch.sequences) return;
        const int guess = min(sequence, batch.rows - 1);
        const int begin = batch.row_begin[sequence], end = batch.row_begin[sequence + 1];
        int owner = batch.sequence[guess], at = batch.position[guess];
        if (end - begin != 1) return;
        if (begin != guess) {
            owner = batch.sequence[begin];
            at = batch.position[begin];
        }
        if (owner != sequence) return;
        row = begin;
        position = at;
    }
};

// The tokens of a split that a block works on, and the pages of the split that have them.
struct SplitTokens {
    int begin, first, last;
    int first_page, pages;

    __device__ SplitTokens(const DecodePlace& place, int split_begin)
        : begin(split_begin),
          first(max(place.first, begin)),
          last(min(place.last, begin + split_tokens - 1)),
          first_page((first - begin) / kv_page_tokens),
          pages((last - begin) / kv_page_tokens + 1) {}
};

// Computes the scores of a split, one page per warp. keys: the buffers of all parts of the columns.
template <int width>
__device__ inline void score_tokens(const __half (*keys)[split_tokens][SplitTiles<width>::stride],
                                    const SplitTokens& split, SplitTiles<width>& tiles) {
    static_assert(split_pages == attention_threads / 32);
    using Tiles = SplitTiles<width>;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    if (warp < split.first_page || warp >= split.pages) return;
    Accumulator s;
    nvcuda::wmma::fill_fragment(s, 0.0f);
#pragma unroll
    for (int d = 0; d < width; d += 16) {
        nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, nvcuda::wmma::row_major> qs;
        nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, __half, nvcuda::wmma::col_major> ks;
        nvcuda::wmma::load_matrix_sync(qs, &tiles.query[0][d], width + 8);
        nvcuda::wmma::load_matrix_sync(
            ks, &keys[d / Tiles::columns][warp * kv_page_tokens][d % Tiles::columns], Tiles::stride);
        nvcuda::wmma::mma_sync(s, qs, ks, s);
    }
    nvcuda::wmma::store_matrix_sync(&tiles.score[0][0][warp * kv_page_tokens], s, score_stride,
                                    nvcuda::wmma::mem_row_major);
}

// Computes the weights of a split, which overwrite the scores, and joins the split's sums with those before:
// 4 heads per warp.
template <bool capped, int width>
__device__ inline void weigh_tokens(const AttentionArgs& a, int heads, const SplitTokens& split,
                                    SplitTiles<width>& tiles) {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const int h = warp * 4;
    if (h >= heads) return;
    auto* weight = reinterpret_cast<__half*>(&tiles.score[0][h][0]);
    SplitSum of_heads[4];
    soften_split(
        tiles.score[0][h], score_stride, weight, weight_stride, split.begin, score_map<capped>(a),
        [&](int) {
            return SeenRange{split.first, split.last};
        },
        of_heads);
    if (lane >= 4) return;
#pragma unroll
    for (int i = 0; i < 4; ++i)
        if (lane == i) tiles.factors[h + i] = join_split(tiles.all[h + i], of_heads[i]);
}

// The weighted sums of values: 16 columns per warp and part of the columns.
template <int width>
class ValueSums {
    using Tiles = SplitTiles<width>;

  public:
    // Writes the head of each element to the scores. The mapping from elements to threads differs between
    // GPUs, so each thread then loads its heads.
    __device__ static void number_heads(float (&scores)[tile_heads][score_stride]) {
        const int t = static_cast<int>(threadIdx.x);
        scores[t / 16][t % 16] = static_cast<float>(t / 16);
    }
    // scores: complete after number_heads().
    __device__ explicit ValueSums(const float (&scores)[tile_heads][score_stride]) {
        nvcuda::wmma::load_matrix_sync(sum_[0], &scores[0][0], score_stride, nvcuda::wmma::mem_row_major);
#pragma unroll
        for (int i = 0; i < Accumulator::num_elements; ++i)
            head_of_ |= static_cast<unsigned>(sum_[0].x[i]) << (head_bits * i);
#pragma unroll
        for (auto& sum : sum_) nvcuda::wmma::fill_fragment(sum, 0.0f);
    }

    // Unseen tokens in the first and last page were loaded as 0. values: the buffers of all parts.
    __device__ void add(const __half (*values)[split_tokens][Tiles::stride], const SplitTokens& split,
                        const Tiles& tiles) {
        if (column_ >= Tiles::columns) return;
        const auto* weight = reinterpret_cast<const __half*>(&tiles.score[0][0][0]);
#pragma unroll
        for (int of_columns = 0; of_columns < Tiles::parts; ++of_columns) {
            Accumulator part;
            nvcuda::wmma::fill_fragment(part, 0.0f);
#pragma unroll 4
            for (int page = split.first_page; page < split.pages; ++page) {
                nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, nvcuda::wmma::row_major>
                    ws;
                nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, __half, nvcuda::wmma::row_major>
                    vs;
                nvcuda::wmma::load_matrix_sync(ws, weight + page * kv_page_tokens, weight_stride);
                nvcuda::wmma::load_matrix_sync(vs, &values[of_columns][page * kv_page_tokens][column_],
                                               Tiles::stride);
                nvcuda::wmma::mma_sync(part, ws, vs, part);
            }
#pragma unroll
            for (int i = 0; i < Accumulator::num_elements; ++i) {
                float& sum = sum_[of_columns].x[i];
                sum =
                    join_value(sum, part.x[i], tiles.factors[head_of_ >> (head_bits * i) & (tile_heads - 1)]);
            }
        }
    }

    __device__ void store(Tiles& tiles) const {
        static_assert(Tiles::columns <= score_stride);
        if (column_ >= Tiles::columns) return;
#pragma unroll
        for (int of_columns = 0; of_columns < Tiles::parts; ++of_columns)
            nvcuda::wmma::store_matrix_sync(&tiles.score[of_columns][0][column_], sum_[of_columns],
                                            score_stride, nvcuda::wmma::mem_row_major);
    }

  private:
    static constexpr int head_bits = 4;
    static_assert(tile_heads == 1 << head_bits && head_bits * Accumulator::num_elements <= 32);

    Accumulator sum_[Tiles::parts];
    unsigned head_of_ = 0;  // the head of each element of a sum
    int column_ = static_cast<int>(threadIdx.x) / 32 * 16;
};

// Writes the results of a block's heads, or its part of them.
template <int width, KvElement element>
__device__ inline void write_results(const AttentionArgs& a, const DecodePlace& place,
                                     const SplitTiles<width>& tiles) {
    const bool only = place.first == first_position(a, place.position) && place.last == place.position;
    if (element != KvElement::F16 && only && a.rotation > 1) {
        for (int h = static_cast<int>(threadIdx.x) / 32; h < place.heads; h += attention_threads / 32) {
            const int head = place.first_head + h;
            const float divisor = denominator(a, head, tiles.all[h]);
            store_rotated<width>(a, place.row, head,
                                 [&](int d) { return __fdiv_rn(tiles.result(h, d), divisor); });
        }
        return;
    }
    for (int i = static_cast<int>(threadIdx.x); i < place.heads * width; i += attention_threads) {
        const int h = i / width, d = i % width, head = place.first_head + h;
        if (d >= a.head_dim) continue;
        const float result = tiles.result(h, d);
        if (only) {
            out_head(a, place.row, head)[d] =
                limited_half(__fdiv_rn(result, denominator(a, head, tiles.all[h])), a.limit);
            continue;
        }
        float* part = part_of(a, static_cast<int>(blockIdx.z), head, static_cast<int>(blockIdx.x),
                              static_cast<int>(gridDim.x));
        part[2 + d] = result;
        if (d == 0) {
            part[0] = tiles.all[h].largest;
            part[1] = tiles.all[h].total;
        }
    }
}

}  // namespace voltpile::llm
