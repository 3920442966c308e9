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

}  // namespace voltpile
