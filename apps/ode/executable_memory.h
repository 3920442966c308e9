// Memory with machine code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace voltpile::ode {

// Owns a copy of the code in memory that can be executed and no longer written. Empty where the system does
// not permit that.
class ExecutableMemory {
  public:
    ExecutableMemory() = default;
    explicit ExecutableMemory(std::span<const std::uint8_t> code);
    ~ExecutableMemory();
    ExecutableMemory(ExecutableMemory&& other) noexcept
        : begin_(std::exchange(other.begin_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    ExecutableMemory& operator=(ExecutableMemory&& other) noexcept {
        std::swap(begin_, other.begin_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }

    void* begin() const { return begin_; }

  private:
    void* begin_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace voltpile::ode
