// Where a matrix-vector product sends its results, a rank's part of a sum over the ranks of a group
// (joint_wire.cuh).
#pragma once

#include "comm/collective/peer_layout.h"

namespace voltpile::llm {

// Pointers to the memory of other GPUs: fp16 (columns). They are not owned.
struct SentPart {
    char* to[max_peers - 1] = {};
    int peers = 0;    // 0: results are not sent
    float limit = 0;  // half_limit()
};

}  // namespace voltpile::llm
