#include "results/field.h"

#include <stdexcept>

namespace voltpile {

std::size_t size_of(FieldType type) {
    switch (type) {
        case FieldType::Int32:
        case FieldType::Float32:
            return 4;
        case FieldType::Int64:
        case FieldType::Float64:
            return 8;
    }
    throw std::logic_error("no such FieldType");
}

std::size_t FieldSpec::values_per_point() const {
    std::size_t values = 1;
    for (const FieldDimension& dimension : dimensions) values *= dimension.labels.size();
    return values;
}

std::size_t FieldSpec::bytes_per_point() const {
    if (!variable()) return values_per_point() * size_of(type);
    return sizeof(std::int64_t) + static_cast<std::size_t>(usual_length) * value_bytes();
}

}  // namespace voltpile
