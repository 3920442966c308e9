// Memory of the device on which operations run.
#pragma once

#include <cstddef>

namespace voltpile::llm {

// Owned memory of the device. Its contents are undefined at first.
class OpsMemory {
  public:
    virtual ~OpsMemory() = default;
    void* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }

  protected:
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace voltpile::llm
