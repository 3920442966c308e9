// Host memory for weights, in large pages where the system has them: every pass reads all weights, and the
// processor looks up each page.
#pragma once

#include <cstddef>
#include <memory>

namespace voltpile::llm {

class WeightSlabs {
  public:
    // Returns memory aligned to 64 bytes, which begins anywhere in a slab that is freed with the last of its
    // pieces. Throws DeviceError if there is too little.
    std::shared_ptr<std::byte> allocate(std::size_t bytes);

  private:
    std::shared_ptr<std::byte> slab_;
    std::size_t used_ = 0;
    std::size_t size_ = 0;
};

}  // namespace voltpile::llm
