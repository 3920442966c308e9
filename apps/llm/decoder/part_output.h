// What becomes of the output of a layer's attention or feed-forward part.
#pragma once

namespace voltpile::llm {

// It is stored, added to what is there, or stored as a part of the sum that JointSums adds next
// (Ops::matmul_part).
enum class PartOutput { Stored, Added, Part };

}  // namespace voltpile::llm
