#include "work/refined_level.h"

#include <bit>
#include <cstring>
#include <stdexcept>

namespace voltpile {

RefinedLevel::RefinedLevel(const RefinedOrder& order, int level, bool all)
    : order_(&order),
      level_(level),
      positions_(order.level_range(level)),
      words_(static_cast<std::size_t>((positions_.size() + 63) / 64), all ? ~std::uint64_t{0} : 0) {
    if (const auto rest = static_cast<unsigned>(positions_.size() % 64); all && rest != 0)
        words_.back() = (std::uint64_t{1} << rest) - 1;
}

std::int64_t RefinedLevel::count() const {
    std::int64_t count = 0;
    for (const std::uint64_t word : words_) count += std::popcount(word);
    return count;
}

std::vector<RefinedLevel::Chosen> RefinedLevel::points_of(WorkRange range) const {
    std::vector<Chosen> points;
    std::int64_t position = range.begin;
    order_->for_each(level_, range, [&](std::int64_t point) {
        if (chosen(position)) points.push_back({point, position - range.begin});
        ++position;
    });
    return points;
}

std::vector<std::byte> RefinedLevel::level_values(WorkRange range) const {
    std::vector<std::int32_t> values;
    values.reserve(static_cast<std::size_t>(range.size()));
    for (std::int64_t at = range.begin; at < range.end; ++at) values.push_back(chosen(at) ? level_ : -1);
    std::vector<std::byte> bytes(values.size() * sizeof(std::int32_t));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

std::string RefinedLevel::to_bytes() const {
    std::string bytes(1, static_cast<char>(level_));
    bytes.append(reinterpret_cast<const char*>(words_.data()), words_.size() * sizeof(std::uint64_t));
    return bytes;
}

RefinedLevel RefinedLevel::from_bytes(const RefinedOrder& order, std::string_view bytes) {
    RefinedLevel level(order, bytes.at(0));
    bytes.remove_prefix(1);
    if (bytes.size() != level.words_.size() * sizeof(std::uint64_t))
        throw std::logic_error("the message does not fit the level");
    if (!bytes.empty()) std::memcpy(level.words_.data(), bytes.data(), bytes.size());
    return level;
}

}  // namespace voltpile
