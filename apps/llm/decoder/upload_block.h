// Arrays that a pass needs, put together on the host and sent to the processor of Ops at once.
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

    // Of an array with room for `count` elements, for the sum that begin() wants.
    template <class T>
    static std::size_t bytes_of(std::size_t count) {
        return std::max<std::size_t>((count * sizeof(T) + 7) / 8, 1) * 8;
    }

    // The block is empty and has room for `bytes`. It stays where it is unless it has to grow.
    void begin(std::size_t bytes);

    // The next array: where it will lie, at a multiple of 8 bytes. room: in elements, at least values.size();
    // the same rooms give the same places.
    template <class T>
    const T* add(std::span<const T> values, std::size_t room) {
        const void* place = add_bytes(std::as_bytes(values), bytes_of<T>(std::max(room, values.size())));
        return static_cast<const T*>(place);
    }

    // Up to the end of the last array that is not empty.
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
