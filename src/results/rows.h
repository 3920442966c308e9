// Values of a variable field over a range of points, as its FieldBuffer has them: size() + 1 offsets, int64,
// counted in values, the first one 0; then the values, point after point without gaps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/field.h"

namespace voltpile {

// Point by point.
class RowsBuilder {
  public:
    template <class T>
    void add(std::span<const T> values) {
        const auto bytes = std::as_bytes(values);
        values_.insert(values_.end(), bytes.begin(), bytes.end());
        offsets_.push_back(offsets_.back() + std::ssize(values));
    }
    void add(std::string_view text) { add(std::span<const char>(text)); }

    FieldBuffer take();  // and is empty again

  private:
    std::vector<std::int64_t> offsets_{0};
    std::vector<std::byte> values_;
};

class RowsView {
  public:
    // Of so many points in the buffer, which outlives it. Throws std::logic_error unless it is one of those.
    RowsView(const FieldBuffer& buffer, std::int64_t points, std::size_t value_bytes);

    std::int64_t size() const { return std::ssize(offsets_) - 1; }  // points
    std::int64_t length(std::int64_t point) const { return offset(point + 1) - offset(point); }
    std::span<const std::int64_t> offsets() const { return offsets_; }
    std::span<const std::byte> values() const { return values_; }  // of all points

    std::span<const std::byte> bytes(std::int64_t point) const;
    std::string_view text(std::int64_t point) const;
    template <class T>  // of value_bytes
    std::vector<T> list(std::int64_t point) const {
        const auto* first = reinterpret_cast<const T*>(bytes(point).data());
        return {first, first + length(point)};
    }

  private:
    std::int64_t offset(std::int64_t point) const { return offsets_[static_cast<std::size_t>(point)]; }

    std::size_t value_bytes_;
    std::span<const std::int64_t> offsets_;
    std::span<const std::byte> values_;
};

// Offsets (as above, but beginning anywhere) and values, brought together.
FieldBuffer rows_buffer(std::span<const std::int64_t> offsets, std::span<const std::byte> values);

}  // namespace voltpile
