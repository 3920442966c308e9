#include "work/shard.h"

#include <fmt/format.h>

#include <charconv>

#include "base/error.h"

namespace voltpile {
namespace {

constexpr int most_shards = 100'000;

// Returns points * index / count, rounded down, without overflow.
std::int64_t bound(std::int64_t points, std::int64_t index, std::int64_t count) {
    return points / count * index + points % count * index / count;
}

}  // namespace

WorkRange Shard::interval(std::int64_t points) const {
    return {bound(points, index, count), bound(points, index + 1, count)};
}

std::string Shard::text() const {
    return fmt::format("shard {}/{}", index, count);
}

Shard parse_shard(const std::string& text) {
    Shard shard;
    const char* const end = text.data() + text.size();
    const auto index = std::from_chars(text.data(), end, shard.index);
    const bool slash = index.ec == std::errc() && index.ptr != end && *index.ptr == '/';
    const auto count = std::from_chars(slash ? index.ptr + 1 : end, end, shard.count);
    if (!slash || count.ec != std::errc() || count.ptr != end)
        throw JobError(fmt::format("--shard {}: not of the form I/K, e.g. 0/4 for the first of four", text));
    if (shard.count < 1 || shard.count > most_shards)
        throw JobError(fmt::format("--shard {}: K must be from 1 to {}", text, most_shards));
    if (shard.index < 0 || shard.index >= shard.count)
        throw JobError(fmt::format("--shard {}: I must be from 0 to {}", text, shard.count - 1));
    return shard;
}

}  // namespace voltpile
