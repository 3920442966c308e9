// What a job writes: for every point of the sweep one value of each field, a scalar or a small array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace voltpile {

enum class FieldType { Int32, Int64, Float32, Float64 };
std::size_t size_of(FieldType type);

// A dimension that a field has beyond the sweep's axes, e.g. body = {"1", "2", "3"}. Fields of one job that
// share a name share the dimension.
struct FieldDimension {
    std::string name;
    std::vector<std::string> labels;
    friend bool operator==(const FieldDimension&, const FieldDimension&) = default;
};

struct FieldSpec {
    std::string name;  // the HDF5 dataset
    FieldType type = FieldType::Float64;
    std::string unit;       // UDUNITS spelling; "1" for pure numbers
    std::string long_name;  // one line
    std::vector<FieldDimension> dimensions;
    // If set, the customary picture of this field shows `plot_from - value`.
    std::optional<double> plot_from;

    std::size_t values_per_point() const;
    std::size_t bytes_per_point() const { return values_per_point() * size_of(type); }
};

// The values of one field over a range of points: range.size() * bytes_per_point() bytes, point by point.
using FieldBuffer = std::vector<std::byte>;

}  // namespace voltpile
