// Hands parts of mapped files back to the kernel.
#pragma once

#include <cstddef>

namespace voltpile::llm {

// Lets the kernel take back the memory of a part of a mapped file. Later reads find the same bytes.
void forget_pages(const std::byte* data, std::size_t bytes);

}  // namespace voltpile::llm
