// The order of 16-byte pieces in rows of 128 bytes of shared memory, so that lanes that read a column of
// pieces of eight rows meet in no bank.
#pragma once

namespace voltpile::llm {

// The place of 16-byte piece `piece` (0 to 7) in row `row`.
__device__ __forceinline__ int swizzled(int row, int piece) {
    return piece ^ row % 8;
}

}  // namespace voltpile::llm
