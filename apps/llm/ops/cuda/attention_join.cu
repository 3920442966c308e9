#include "llm/ops/cuda/attention.cuh"
#include "llm/ops/cuda/early_launch.cuh"

namespace voltpile::llm {

namespace {

// Joins column d of a row over the parts [begin, end) of a sequence; spans: they are whole spans, otherwise
// splits, and those of a span are joined in order, and then the spans. parts: part_of() part 0. As many parts
// as a span has splits are loaded at once.
template <bool spans>
__device__ JoinedColumn join_parts_of(const float* parts, int size, int begin, int end, int d) {
    JoinedColumn joined;
    for (int first = begin / span_splits * span_splits; first < end; first += span_splits) {
        SplitSum sums[span_splits];
        float values[span_splits];
#pragma unroll
        for (int i = 0; i < span_splits; ++i) {
            if (first + i < begin || first + i >= end) continue;
            const float* const part = parts + static_cast<std::int64_t>(first + i) * size;
            sums[i] = {part[0], part[1]};
            values[i] = part[2 + d];
        }
        JoinedColumn span;
#pragma unroll
        for (int i = 0; i < span_splits; ++i)
            if (first + i >= begin && first + i < end) (spans ? joined : span).add(sums[i], values[i]);
        if constexpr (spans) continue;
        if (first <= begin)
            joined = span;
        else
            joined.add(span.all, span.sum);
    }
    return joined;
}

// Grid: (heads, sequences from first_sequence on), one thread per column of a head. Rows with one part
// already have their result. rotates: as a.rotation says.
template <bool spans, bool rotates>
__global__ void join_parts(const AttentionArgs a, int first_sequence) {
    begin_after_earlier_kernels();
    const int sequence = first_sequence + static_cast<int>(blockIdx.y);
    const int row = sequence < a.batch.sequences ? single_row(a, sequence) : -1;
    if (row < 0) return;
    constexpr int tokens = spans ? span_tokens : split_tokens;
    const int position = a.batch.position[row];
    const int begin = first_position(a, position) / tokens, end = position / tokens + 1;
    const int head = static_cast<int>(blockIdx.x), d = static_cast<int>(threadIdx.x);
    if (end - begin == 1 || (!rotates && d >= a.head_dim)) return;
    const int count = (a.batch.max_context + tokens - 1) / tokens;
    const float* parts = part_of(a, static_cast<int>(blockIdx.y), head, 0, count);
    JoinedColumn joined;
    if (!rotates || d < a.head_dim)
        joined = join_parts_of<spans>(parts, part_floats(a.head_dim), begin, end, d);
    if constexpr (rotates) {
        __shared__ float numbers[most_rotated_dim];
        numbers[d] = joined_number(a, head, joined);
        __syncthreads();
        if (d < 32) store_rotated<most_rotated_dim>(a, row, head, [&](int i) { return numbers[i]; });
    } else {
        store_joined(a, row, head, d, joined);
    }
}

// The same for the rows of prompts and their spans. Grid: (heads, rows from first_row on).
__global__ void join_spans(const AttentionArgs a, int first_row, const Spans spans) {
    begin_after_earlier_kernels();
    const int row = first_row + static_cast<int>(blockIdx.y), sequence = a.batch.sequence[row];
    if (sequence < 0 || single_row(a, sequence) >= 0) return;
    const int position = a.batch.position[row];
    const int begin = first_position(a, position) / spans.tokens, end = position / spans.tokens + 1;
    const int head = static_cast<int>(blockIdx.x), d = static_cast<int>(threadIdx.x);
    if (end - begin == 1 || d >= a.head_dim) return;
    const float* parts = part_of(a, static_cast<int>(blockIdx.y), head, 0, spans.count);
    const int size = part_floats(a.head_dim);

    JoinedColumn joined{{parts[begin * size], parts[begin * size + 1]}, parts[begin * size + 2 + d]};
#pragma unroll 8
    for (int s = begin + 1; s < end; ++s)
        joined.add({parts[s * size], parts[s * size + 1]}, parts[s * size + 2 + d]);
    store_joined(a, row, head, d, joined);
}

int threads_of(const AttentionArgs& args) {
    return (args.head_dim + 31) / 32 * 32;
}

}  // namespace

void launch_join_parts(const AttentionArgs& args, int splits_each, int first, int sequences,
                       const Stream& stream) {
    const bool spans = splits_each > 1;
    const auto kernel = args.rotation > 1 ? (spans ? join_parts<true, true> : join_parts<false, true>)
                                          : (spans ? join_parts<true, false> : join_parts<false, false>);
    launch_early("joining the parts of attention", kernel, {args.heads, threads_of(args), 0, sequences},
                 stream, args, first);
}

void launch_join_spans(const AttentionArgs& args, const Spans& spans, int first, int rows,
                       const Stream& stream) {
    launch_early("joining the spans of attention", join_spans, {args.heads, threads_of(args), 0, rows},
                 stream, args, first, spans);
}

}  // namespace voltpile::llm
