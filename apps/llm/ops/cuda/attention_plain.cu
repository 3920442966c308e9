#include "llm/ops/cuda/attention.cuh"

namespace voltpile::llm {

namespace {

// One warp per row and head, for any head_dim.
template <KvElement element>
__global__ void plain_attention(const AttentionArgs a) {
    extern __shared__ float plain_shared[];
    const int row = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.y);
    const int lane = static_cast<int>(threadIdx.x), sequence = a.batch.sequence[row];
    const int dim = a.head_dim;
    if (sequence < 0) {
        for (int d = lane; d < dim; d += 32) out_head(a, row, head)[d] = __half(0.0f);
        return;
    }
    const int position = a.batch.position[row], kv_head = head / (a.heads / a.kv_heads);
    const __half* query = static_cast<const __half*>(a.qkv) + qkv_row(a, row) + head * dim;
    float* sum = plain_shared;
    for (int d = lane; d < dim; d += 32) sum[d] = 0;
    float largest = -INFINITY, total = 0;
    for (int p = first_position(a, position); p <= position; ++p) {
        const std::int64_t page = page_index(a, sequence, p / kv_page_tokens, kv_head);
        const int token = p % kv_page_tokens;
        const CachedPage<element> keys(a.cache.keys, a.cache.key_scales, page, dim);
        const CachedPage<element> values(a.cache.values, a.cache.value_scales, page, dim);
        float score = 0;
        for (int d = lane; d < dim; d += 32)
            score = fmaf(__half2float(query[d]), keys.number(token, d, dim), score);
        for (int offset = 16; offset > 0; offset /= 2) score += __shfl_xor_sync(0xffffffffu, score, offset);
        score *= a.scale;
        const float most = fmaxf(largest, score);
        const float factor = most == largest ? 1.0f : expf(largest - most), weight = expf(score - most);
        largest = most;
        total = fmaf(total, factor, weight);
        for (int d = lane; d < dim; d += 32)
            sum[d] = fmaf(weight, values.number(token, d, dim), sum[d] * factor);
    }
    __half* out = out_head(a, row, head);
    for (int d = lane; d < dim; d += 32) out[d] = limited_half(sum[d] / total, a.limit);
}

}  // namespace

void launch_plain_attention(const AttentionArgs& args, const Stream& stream) {
    const auto kernel = args.cache.element == KvElement::F16 ? plain_attention<KvElement::F16>
                                                             : plain_attention<KvElement::I8>;
    launch("attention", kernel,
           {args.batch.rows, 32, static_cast<std::size_t>(args.head_dim) * sizeof(float), args.heads}, stream,
           args);
}

}  // namespace voltpile::llm
