// What a job writes: for every point of the sweep one value of each field: a scalar or a small array, or a
// list or text as long as it happens to be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace voltpile {

enum class FieldType { Int32, Int64, Float32, Float64 };
std::size_t size_of(FieldType type);

enum class FieldShape {
    Fixed,  // as many values at every point
    List,   // any number of values
    Text,   // UTF-8 of any length; `type` does not matter
};

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
    FieldShape shape = FieldShape::Fixed;  // of the others: no dimensions, no plot_from
    std::int64_t usual_length = 0;         // of a list or a text, for estimates
    // If any, the values (Int32) are numbers of these: 0 is the first. One word each.
    std::vector<std::string> labels;

    bool variable() const { return shape != FieldShape::Fixed; }
    std::size_t value_bytes() const { return shape == FieldShape::Text ? 1 : size_of(type); }
    std::size_t values_per_point() const;  // of variable fields 1: their length
    std::size_t bytes_per_point() const;   // of variable fields an estimate
};

// The values of one field over a range of points: range.size() * bytes_per_point() bytes, point by point. Of
// a variable field: see results/rows.h.
using FieldBuffer = std::vector<std::byte>;

}  // namespace voltpile
