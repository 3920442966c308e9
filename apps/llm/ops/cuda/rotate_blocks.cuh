// The rotation of heads for quantized KV caches.
#pragma once

namespace voltpile::llm {

// Rotates each block of `order` of `count` numbers in shared memory in place, see KvElement. count: a
// multiple of order, a power of two. All lanes of a warp call it; they see all numbers before the call and
// after it.
__device__ inline void rotate_blocks(float* numbers, int count, int order) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int length = 1; length < order; length *= 2) {
        for (int pair = lane; pair < count / 2; pair += 32) {
            // The numbers whose index has a 0 in the bit `length`, in order.
            const int at = 2 * pair - pair % length;
            const float first = numbers[at], second = numbers[at + length];
            numbers[at] = first + second;
            numbers[at + length] = first - second;
        }
        __syncwarp();
    }
    const float scale = 1.0f / sqrtf(static_cast<float>(order));
    for (int i = lane; i < count; i += 32) numbers[i] *= scale;
    __syncwarp();
}

}  // namespace voltpile::llm
