// Collects the arrays of a pass on the host and uploads them to the memory of Ops in one transfer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "llm/ops/ops.h"

namespace voltpile::llm {

class UploadBlock {
  public:
    explicit UploadBlock(Ops& ops) : ops_(ops) {}

    // Returns the bytes of an array with `count` elements in the block, for the total given to begin().
    template <class T>
    static std::size_t bytes_of(std::size_t count) {
        return std::max<std::size_t>((count * sizeof(T) + 7) / 8, 1) * 8;
    }

    // Empties the block and makes room for `bytes`. The block moves only if it has to grow.
    void begin(std::size_t bytes);

    // Adds an array and returns its address after send(), a multiple of 8 bytes. room: elements to reserve,
    // at least values.size(); the same rooms give the same addresses.
    template <class T>
    const T* add(std::span<const T> values, std::size_t room) {
        const void* place = add_bytes(std::as_bytes(values), bytes_of<T>(std::max(room, values.size())));
        return static_cast<const T*>(place);
    }

    // Uploads the block up to the end of the last array that is not empty.
    void send();

  private:
    const void* add_bytes(std::span<const std::byte> values, std::size_t room);

    Ops& ops_;
    std::unique_ptr<OpsMemory> memory_;
    std::vector<std::byte> host_;
    std::size_t at_ = 0;
    std::size_t filled_ = 0;
};

}  // namespace voltpile::llm
