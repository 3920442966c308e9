#include "comm/collective/reduce.h"

#include <cstring>

#include "base/error.h"
#include "base/half.h"

namespace voltpile {
namespace {

template <class T>
T load(const void* from, std::int64_t i) {
    T value;
    std::memcpy(&value, static_cast<const char*>(from) + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    return value;
}

// read, write: convert between the stored and the summed type.
template <class Stored, class Read, class Write>
void reduce_as(std::span<const void* const> in, void* out, std::int64_t count, Reduction reduction, Read read,
               Write write) {
    for (std::int64_t i = 0; i < count; ++i) {
        auto value = read(load<Stored>(in[0], i));
        for (std::size_t r = 1; r < in.size(); ++r) {
            const auto next = read(load<Stored>(in[r], i));
            value = reduction == Reduction::Sum ? value + next : next > value ? next : value;
        }
        const Stored stored = write(value);
        std::memcpy(static_cast<char*>(out) + i * static_cast<std::int64_t>(sizeof(Stored)), &stored,
                    sizeof(Stored));
    }
}

}  // namespace

void reduce_in_order(std::span<const void* const> in, void* out, std::int64_t count, ElementType type,
                     Reduction reduction) {
    const auto same = [](auto value) { return value; };
    switch (type) {
        case ElementType::Int32:  // in 64 bits, so that sums wrap around
            return reduce_as<std::int32_t>(
                in, out, count, reduction, [](std::int32_t v) { return static_cast<std::int64_t>(v); },
                [](std::int64_t v) { return static_cast<std::int32_t>(v); });
        case ElementType::Float16:
            return reduce_as<std::uint16_t>(in, out, count, reduction, float_from_half, half_from_float);
        case ElementType::Float32:
            return reduce_as<float>(in, out, count, reduction, same, same);
        case ElementType::Float64:
            return reduce_as<double>(in, out, count, reduction, same, same);
        case ElementType::Byte:
            break;
    }
    throw CommError("bytes cannot be reduced");
}

}  // namespace voltpile
