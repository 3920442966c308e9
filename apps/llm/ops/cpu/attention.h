// Attention of adjacent rows of a sequence. Keys and values are converted to fp32 once for all rows, a page
// at a time. A row's result does not depend on the other rows.
#pragma once

#include <utility>

#include "llm/ops/batch.h"
#include "llm/ops/cpu/row_kernels.h"

namespace voltpile::llm {
inline namespace VOLTPILE_TARGET {
namespace {

// The key or value of a token and KV head, at an index of the cache: load() and number() times `factor`.
// data, scales: at index 0. load(i, v) returns numbers i + v to i + v + lane_count - 1; i is a multiple of
// `step`, and v one of lane_count below it.
template <KvElement element>
struct CachedHead;
template <>
struct CachedHead<KvElement::F16> {
    const std::uint16_t* halves;
    static constexpr float factor = 1;
    static constexpr int step = lane_count;
    VOLTPILE_INLINE CachedHead(const void* data, const void*, std::int64_t at, int head_dim)
        : halves(static_cast<const std::uint16_t*>(data) + at * head_dim) {}
    VOLTPILE_INLINE Lanes load(int i, int) const { return load_halves(halves + i); }
    VOLTPILE_INLINE float number(int i) const {
        return half_at(reinterpret_cast<const std::uint8_t*>(halves + i));
    }
};
template <>
struct CachedHead<KvElement::F32> {
    const float* numbers;
    static constexpr float factor = 1;
    static constexpr int step = lane_count;
    VOLTPILE_INLINE CachedHead(const void* data, const void*, std::int64_t at, int head_dim)
        : numbers(static_cast<const float*>(data) + at * head_dim) {}
    VOLTPILE_INLINE Lanes load(int i, int) const { return Lanes::load(numbers + i); }
    VOLTPILE_INLINE float number(int i) const { return numbers[i]; }
};
template <>
struct CachedHead<KvElement::I8> {
    const std::int8_t* quants;
    float factor;
    static constexpr int step = lane_count;
    VOLTPILE_INLINE CachedHead(const void* data, const void* scales, std::int64_t at, int head_dim)
        : quants(static_cast<const std::int8_t*>(data) + at * head_dim),
          factor(static_cast<const float*>(scales)[at]) {}
    VOLTPILE_INLINE Lanes load(int i, int) const {
        return to_float(load_signed_bytes(reinterpret_cast<const std::uint8_t*>(quants + i)));
    }
    VOLTPILE_INLINE float number(int i) const { return quants[i]; }
};
template <>
struct CachedHead<KvElement::I4> {
    const std::uint8_t* codes;
    const std::uint8_t* scales;
    static constexpr float factor = 1;
    static constexpr int step = kKvGroup;
    VOLTPILE_INLINE CachedHead(const void* data, const void* all_scales, std::int64_t at, int head_dim) {
        const std::int64_t first =
            at * static_cast<std::int64_t>(kv_groups(static_cast<std::size_t>(head_dim)));
        codes = static_cast<const std::uint8_t*>(data) + first * step / 2;
        scales = static_cast<const std::uint8_t*>(all_scales) + first * 4;
    }
    VOLTPILE_INLINE Lanes load(int i, int v) const {
        const std::uint8_t* scale = scales + i / step * 4;
        return fma(to_float(load_nibbles(codes + i / 2, v)), Lanes(half_at(scale)),
                   Lanes(half_at(scale + 2)));
    }
    VOLTPILE_INLINE float number(int i) const {
        const std::uint8_t* scale = scales + i / step * 4;
        const int in_group = i % step, byte = codes[i / step * step / 2 + in_group % (step / 2)];
        const int code = in_group < step / 2 ? byte & 15 : byte >> 4;
        return static_cast<float>(code) * half_at(scale) + half_at(scale + 2);
    }
};

// Calls body(i, lanes) for numbers i to i + lane_count - 1 of a head with `count` numbers, in order. Returns
// the index of the first of the fewer than lane_count numbers that are left.
template <class Head, class Body>
VOLTPILE_INLINE int for_lanes(const Head& head, int count, const Body& body) {
    int i = 0;
    for (; i + Head::step <= count; i += Head::step) {
#pragma GCC unroll 8
        for (int v = 0; v < Head::step; v += lane_count) body(i + v, head.load(i, v));
    }
    if constexpr (Head::step > lane_count) {
        const int begin = i;
        for (; i + lane_count <= count; i += lane_count) body(i, head.load(begin, i - begin));
    }
    return i;
}

// Replaces scores by exp(score - max) and returns their sum, with that of the sink (nullptr: none). Pads
// `scores` to whole registers.
VOLTPILE_INLINE float soften(float* scores, int count, const float* sink) {
    const int padded = (count + lane_count - 1) / lane_count * lane_count;
    for (int i = count; i < padded; ++i) scores[i] = -__builtin_inff();
    Lanes largest = Lanes::load(scores);
    for (int i = lane_count; i < padded; i += lane_count) largest = larger(Lanes::load(scores + i), largest);
    float top = largest.lane(0);
    for (int lane = 1; lane < lane_count; ++lane) top = largest.lane(lane) > top ? largest.lane(lane) : top;
    if (sink != nullptr && *sink > top) top = *sink;
    Lanes total = {};
    for (int i = 0; i < padded; i += lane_count) {
        Lanes weight = exponential(Lanes::load(scores + i) - top);
        if (i + lane_count > count) {
            for (int lane = 0; lane < lane_count; ++lane) {
                if (i + lane >= count) weight.set_lane(lane, 0);
            }
        }
        weight.store(scores + i);
        total += weight;
    }
    return sum(total) + (sink != nullptr ? exponential(Lanes(*sink - top)).lane(0) : 0);
}

// Adds the halves of parts of 2 * half lanes: `half` lanes of the result for each part of a, then of b.
template <int half, std::size_t... i>
VOLTPILE_INLINE Lanes fold(Lanes a, Lanes b, std::index_sequence<i...>) {
    constexpr auto lower = [](int lane) { return lane / half * 2 * half + lane % half; };
    return __builtin_shufflevector(a.v, b.v, lower(static_cast<int>(i))...) +
           __builtin_shufflevector(a.v, b.v, lower(static_cast<int>(i)) + half...);
}

// Lane i: the sum of the lanes of v[first + i], for i < count, in the order of sum(); the other lanes
// likewise have halves, quarters and so on of these sums unless count is lane_count.
template <int count, int first>
VOLTPILE_INLINE Lanes sums_of(const Lanes::Numbers (&v)[lane_count]) {
    if constexpr (count == 1) {
        return v[first];
    } else {
        return fold<lane_count / count>(sums_of<count / 2, first>(v),
                                        sums_of<count / 2, first + count / 2>(v),
                                        std::make_index_sequence<lane_count>{});
    }
}

// The products of q with lane_count keys, head_dim numbers each.
VOLTPILE_INLINE Lanes dots(const float* q, const float* keys, int head_dim) {
    Lanes::Numbers partial[lane_count];
#pragma GCC unroll 16
    for (int k = 0; k < lane_count; ++k) partial[k] = Lanes().v;
    int i = 0;
    for (; i + lane_count <= head_dim; i += lane_count) {
        const Lanes of_q = Lanes::load(q + i);
#pragma GCC unroll 16
        for (int k = 0; k < lane_count; ++k)
            partial[k] = fma(of_q, Lanes::load(keys + k * head_dim + i), Lanes(partial[k])).v;
    }
    Lanes total = sums_of<lane_count, 0>(partial);
    for (; i < head_dim; ++i) {
        Lanes rest;
        for (int k = 0; k < lane_count; ++k) rest.set_lane(k, q[i] * keys[k * head_dim + i]);
        total += rest;
    }
    return total;
}

// out[h][:] += sum over the tokens of weights[h][token] times their values, head_dim numbers each, in order.
template <int heads>
VOLTPILE_INLINE void add_values(float* out, const float* const (&weights)[heads], const float* values,
                                int tokens, int head_dim) {
    constexpr int together = 4;  // registers of a head
    const auto add = [&]<int registers>(int i) __attribute__((always_inline)) {
        Lanes::Numbers sums[heads][registers];
#pragma GCC unroll 2
        for (int h = 0; h < heads; ++h) {
#pragma GCC unroll 4
            for (int v = 0; v < registers; ++v)
                sums[h][v] = Lanes::load(out + h * head_dim + i + v * lane_count).v;
        }
        for (int token = 0; token < tokens; ++token) {
#pragma GCC unroll 4
            for (int v = 0; v < registers; ++v) {
                const Lanes value = Lanes::load(values + token * head_dim + i + v * lane_count);
#pragma GCC unroll 2
                for (int h = 0; h < heads; ++h)
                    sums[h][v] = fma(value, Lanes(weights[h][token]), Lanes(sums[h][v])).v;
            }
        }
#pragma GCC unroll 2
        for (int h = 0; h < heads; ++h) {
#pragma GCC unroll 4
            for (int v = 0; v < registers; ++v)
                Lanes(sums[h][v]).store(out + h * head_dim + i + v * lane_count);
        }
    };
    int i = 0;
    for (; i + together * lane_count <= head_dim; i += together * lane_count)
        add.template operator()<together>(i);
    for (; i + lane_count <= head_dim; i += lane_count) add.template operator()<1>(i);
    for (; i < head_dim; ++i) {
        for (int h = 0; h < heads; ++h) {
            for (int token = 0; token < tokens; ++token)
                out[h * head_dim + i] += values[token * head_dim + i] * weights[h][token];
        }
    }
}

template <KvElement element>
class RowsAttention {
  public:
    VOLTPILE_INLINE explicit RowsAttention(const AttentionRows& rows)
        : rows_(rows), stride_(attention_scores(rows.last_of(rows.rows - 1) - rows.first_of(0) + 1)) {}

    VOLTPILE_INLINE void run() const {
        for_pages([&](int page) __attribute__((always_inline)) { add_scores(page); });
        for (int r = 0; r < rows_.rows; ++r) {
            for (int g = 0; g < rows_.group; ++g) weigh(r, g);
        }
        for_pages([&](int page) __attribute__((always_inline)) { add_values_of(page); });
    }

  private:
    template <class Body>
    VOLTPILE_INLINE void for_pages(const Body& body) const {
        const int last = rows_.last_of(rows_.rows - 1) / kv_page_tokens;
        for (int page = rows_.first_of(0) / kv_page_tokens; page <= last; ++page) body(page);
    }

    // The score of the first key that the row attends to. Whole registers are stored, so up to lane_count - 1
    // numbers before it and behind the last one are overwritten.
    VOLTPILE_INLINE float* scores_of(int r, int g) const {
        return rows_.scores + (std::int64_t{r} * rows_.group + g) * stride_ + attention_margin;
    }
    VOLTPILE_INLINE const float* q_of(int r, int g) const {
        return rows_.q + r * rows_.q_stride + g * rows_.head_dim;
    }

    // Converts the page's tokens up to the last row's own. take_factor(token, factor): returns what a token's
    // numbers are multiplied by.
    template <class TakeFactor>
    VOLTPILE_INLINE void convert(const void* data, const void* scales, int page,
                                 const TakeFactor& take_factor) const {
        const int dim = rows_.head_dim, left = rows_.last_of(rows_.rows - 1) - page * kv_page_tokens + 1;
        for (int token = 0; token < kv_page_tokens && token < left; ++token) {
            const CachedHead<element> head(data, scales, rows_.pages[page] * rows_.page_stride + token, dim);
            const float factor = take_factor(token, head.factor);
            float* const to = rows_.page + token * dim;
            int i = for_lanes(
                head, dim, [&](int at, Lanes lanes) __attribute__((always_inline)) {
                    (lanes * factor).store(to + at);
                });
            for (; i < dim; ++i) to[i] = head.number(i) * factor;
        }
    }

    VOLTPILE_INLINE void add_scores(int page) const {
        const int dim = rows_.head_dim;
        float scale[kv_page_tokens] = {};
        convert(rows_.keys, rows_.key_scales, page, [&](int token, float factor) {
            scale[token] = rows_.scale * factor;
            return 1.0F;
        });
        for (int r = 0; r < rows_.rows; ++r) {
            for (int k = 0; k < kv_page_tokens; k += lane_count) {
                const int position = page * kv_page_tokens + k;
                if (position > rows_.last_of(r) || position + lane_count <= rows_.first_of(r)) continue;
                for (int g = 0; g < rows_.group; ++g)
                    (dots(q_of(r, g), rows_.page + k * dim, dim) * Lanes::load(scale + k))
                        .store(scores_of(r, g) + (position - rows_.first_of(r)));
            }
        }
    }

    VOLTPILE_INLINE void weigh(int r, int g) const {
        float* const weights = scores_of(r, g);
        const int count = rows_.last_of(r) - rows_.first_of(r) + 1;
        if (rows_.soft_cap > 0) soft_cap(weights, count, rows_.soft_cap);
        const float scale = 1 / soften(weights, count, rows_.sinks == nullptr ? nullptr : rows_.sinks + g);
        for (int p = 0; p < count; ++p) weights[p] *= scale;
        float* const out = rows_.out + r * rows_.out_stride + g * rows_.head_dim;
        for (int i = 0; i < rows_.head_dim; ++i) out[i] = 0;
    }

    VOLTPILE_INLINE void add_values_of(int page) const {
        const int dim = rows_.head_dim;
        convert(rows_.values, rows_.value_scales, page, [](int, float factor) { return factor; });
        const int begin = page * kv_page_tokens;
        for (int r = 0; r < rows_.rows; ++r) {
            const int first = rows_.first_of(r) > begin ? rows_.first_of(r) : begin;
            const int last =
                rows_.last_of(r) < begin + kv_page_tokens ? rows_.last_of(r) : begin + kv_page_tokens - 1;
            if (first > last) continue;
            const float* const values = rows_.page + (first - begin) * dim;
            const auto weights = [&](int g) { return scores_of(r, g) + (first - rows_.first_of(r)); };
            float* const out = rows_.out + r * rows_.out_stride;
            int g = 0;
            for (; g + 2 <= rows_.group; g += 2)
                add_values<2>(out + g * dim, {weights(g), weights(g + 1)}, values, last - first + 1, dim);
            if (g < rows_.group) add_values<1>(out + g * dim, {weights(g)}, values, last - first + 1, dim);
        }
    }

    const AttentionRows& rows_;
    std::int64_t stride_;
};

void attention(const AttentionRows& rows) {
    switch (rows.element) {
        case KvElement::F16:
            return RowsAttention<KvElement::F16>(rows).run();
        case KvElement::F32:
            return RowsAttention<KvElement::F32>(rows).run();
        case KvElement::I8:
            return RowsAttention<KvElement::I8>(rows).run();
        case KvElement::I4:
            return RowsAttention<KvElement::I4>(rows).run();
    }
}

}  // namespace
}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
