#include "llm/ops/cuda/attention.cuh"

namespace voltpile::llm {

namespace {

constexpr int plain_warps = 8;

// One block per row and head, for any head_dim. Its warps take the tokens in turn. Shared memory: head_dim
// floats per warp, then the largest score and the total of each.
template <KvElement element>
__global__ void __launch_bounds__(32 * plain_warps) plain_attention(const AttentionArgs a) {
    extern __shared__ float plain_shared[];
    const int row = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.y);
    const int t = static_cast<int>(threadIdx.x), warp = t / 32, lane = t % 32;
    const int sequence = a.batch.sequence[row], dim = a.head_dim;
    if (sequence < 0) {
        for (int d = t; d < dim; d += 32 * plain_warps) out_head(a, row, head)[d] = __half(0.0f);
        return;
    }
    const int position = a.batch.position[row], kv_head = head / (a.heads / a.kv_heads);
    const __half* query = static_cast<const __half*>(a.qkv) + qkv_row(a, row) + head * dim;
    float* sum = plain_shared + warp * dim;
    float* largest_of = plain_shared + plain_warps * dim;
    float* total_of = largest_of + plain_warps;
    for (int d = lane; d < dim; d += 32) sum[d] = 0;
    float largest = -INFINITY, total = 0;
    for (int p = first_position(a, position) + warp; p <= position; p += plain_warps) {
        const std::int64_t page = page_index(a, sequence, p / kv_page_tokens, kv_head);
        const int token = p % kv_page_tokens;
        const CachedPage<element> keys(a.cache.keys, a.cache.key_scales, page, dim);
        const CachedPage<element> values(a.cache.values, a.cache.value_scales, page, dim);
        float score = 0;
        for (int d = lane; d < dim; d += 32)
            score = fmaf(__half2float(query[d]), keys.number(token, d, dim), score);
        for (int offset = 16; offset > 0; offset /= 2) score += __shfl_xor_sync(0xffffffffu, score, offset);
        score *= a.scale;
        if (a.soft_cap > 0) score = a.soft_cap * tanhf(score / a.soft_cap);
        const float most = fmaxf(largest, score);
        const float factor = most == largest ? 1.0f : expf(largest - most), weight = expf(score - most);
        largest = most;
        total = fmaf(total, factor, weight);
        for (int d = lane; d < dim; d += 32)
            sum[d] = fmaf(weight, values.number(token, d, dim), sum[d] * factor);
    }
    if (lane == 0) {
        largest_of[warp] = largest;
        total_of[warp] = total;
    }
    __syncthreads();
    for (int w = 0; w < plain_warps; ++w) largest = fmaxf(largest, largest_of[w]);
    float factor[plain_warps];
    total = 0;
#pragma unroll
    for (int w = 0; w < plain_warps; ++w) {
        // A warp without tokens has no share.
        factor[w] = total_of[w] == 0 ? 0.0f : expf(largest_of[w] - largest);
        total = fmaf(total_of[w], factor[w], total);
    }
    if (a.sinks != nullptr) total += expf(a.sinks[head] - largest);
    __half* out = out_head(a, row, head);
    for (int d = t; d < dim; d += 32 * plain_warps) {
        float value = 0;
#pragma unroll
        for (int w = 0; w < plain_warps; ++w) value = fmaf(plain_shared[w * dim + d], factor[w], value);
        out[d] = limited_half(value / total, a.limit);
    }
}

}  // namespace

void launch_plain_attention(const AttentionArgs& args, const Stream& stream) {
    const auto kernel =
        with_element(args.cache.element, [](auto element) { return plain_attention<element>; });
    launch("attention", kernel,
           {args.batch.rows, 32 * plain_warps,
            static_cast<std::size_t>(plain_warps * (args.head_dim + 2)) * sizeof(float), args.heads},
           stream, args);
}

}  // namespace voltpile::llm
