// What a GPU keeps of matrices whose products may be sums of integers (int8_tiles.h).
#pragma once

#include "device/slab_memory.h"
#include "llm/ops/cuda/rotation.h"

namespace voltpile::llm {

// Of matrices that products multiply together; the first of them has it.
struct IntegerWeights {
    Rotation rotation;
    int matrices = 0;
    bool gated = false;
    SlabMemory::Piece copy;  // of integer_copy_bytes() (gpu_memory.h), or empty
    bool large = false;  // has a copy that int8_vectors.h reads, and is_large() (product.h) of all formats
    // Of x, from which on products are those of integers (int8_tiles.h); fewer are, too, if they are
    // batch-invariant, or if `large`.
    int least_rows = 0;
};

}  // namespace voltpile::llm
