// Describes what a job writes: at every point of the sweep one value of each field. A value is a scalar, a
// small array, or a list or text of any length.
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
    Fixed,  // the same number of values at every point
    List,   // any number of values
    Text,   // UTF-8 of any length; `type` does not matter
};

// A dimension of a field besides the sweep's axes, e.g. body = {"1", "2", "3"}. Fields of a job that name the
// same dimension share it.
struct FieldDimension {
    std::string name;
    std::vector<std::string> labels;
    friend bool operator==(const FieldDimension&, const FieldDimension&) = default;
};

struct FieldSpec {
    std::string name;  // of the HDF5 dataset
    FieldType type = FieldType::Float64;
    std::string unit;       // UDUNITS spelling; "1" for pure numbers
    std::string long_name;  // one line
    std::vector<FieldDimension> dimensions;
    // If set, the customary picture of this field shows `plot_from - value`.
    std::optional<double> plot_from;
    FieldShape shape = FieldShape::Fixed;  // lists and texts have no dimensions and no plot_from
    std::int64_t usual_length = 0;         // of a list or text, in values; for estimates
    // Words for the values of an Int32 field that enumerates: value i means labels[i]. Empty for other
    // fields.
    std::vector<std::string> labels;

    bool variable() const { return shape != FieldShape::Fixed; }
    std::size_t value_bytes() const { return shape == FieldShape::Text ? 1 : size_of(type); }
    std::size_t values_per_point() const;  // 1 for variable fields: their length
    std::size_t bytes_per_point() const;   // for variable fields an estimate
};

// The values of one field over a range, point by point: range.size() * bytes_per_point() bytes.
// results/rows.h describes the buffers of variable fields.
using FieldBuffer = std::vector<std::byte>;

}  // namespace voltpile
