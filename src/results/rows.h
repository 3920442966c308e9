// Builds and reads the FieldBuffer of a variable field over a range of points. The buffer has size() + 1
// offsets, int64, counted in values and beginning with 0, and then the values of all points without gaps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/field.h"

namespace voltpile {

// Builds a buffer point by point.
class RowsBuilder {
  public:
    template <class T>
    void add(std::span<const T> values) {
        const auto bytes = std::as_bytes(values);
        values_.insert(values_.end(), bytes.begin(), bytes.end());
        offsets_.push_back(offsets_.back() + std::ssize(values));
    }
    void add(std::string_view text) { add(std::span<const char>(text)); }

    FieldBuffer take();  // leaves the builder empty

  private:
    std::vector<std::int64_t> offsets_{0};
    std::vector<std::byte> values_;
};

class RowsView {
  public:
    // Views a buffer of `points` points, which must outlive the view. Throws std::logic_error if the buffer
    // does not have this form.
    RowsView(const FieldBuffer& buffer, std::int64_t points, std::size_t value_bytes);

    std::int64_t size() const { return std::ssize(offsets_) - 1; }  // points
    std::int64_t length(std::int64_t point) const { return offset(point + 1) - offset(point); }
    std::span<const std::int64_t> offsets() const { return offsets_; }
    std::span<const std::byte> values() const { return values_; }  // of all points, without the offsets

    std::span<const std::byte> bytes(std::int64_t point) const;
    std::string_view text(std::int64_t point) const;
    template <class T>  // sizeof(T) == value_bytes
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

// Makes a buffer of offsets, which may begin anywhere, and the values between the first and the last of them.
FieldBuffer rows_buffer(std::span<const std::int64_t> offsets, std::span<const std::byte> values);

}  // namespace voltpile
