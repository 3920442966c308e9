// Host memory for weights, in large pages where the system has them: every pass reads all weights, and the
// processor looks up each page.
#pragma once

#include <cstddef>
#include <memory>

namespace voltpile::llm {

class WeightSlabs {
  public:
    // Returns a piece of a slab, aligned to 64 bytes. A slab is freed when its last piece is. Throws
    // DeviceError if the system gives no memory.
    std::shared_ptr<std::byte> allocate(std::size_t bytes);

  private:
    std::shared_ptr<std::byte> slab_;
    std::size_t used_ = 0;
    std::size_t size_ = 0;
};

}  // namespace voltpile::llm
