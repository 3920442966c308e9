#include "sweep/outcome_field.h"

#include <cstring>

namespace voltpile {

OutcomeBuffers::OutcomeBuffers(const std::vector<OutcomeField>& fields, std::size_t points)
    : fields_(fields) {
    for (const OutcomeField& field : fields) {
        bytes_.push_back(field.spec.bytes_per_point());
        data_.emplace_back(points * bytes_.back());
    }
}

void OutcomeBuffers::store(std::size_t index, const void* outcome) {
    for (std::size_t f = 0; f < fields_.size(); ++f) {
        std::memcpy(data_[f].data() + index * bytes_[f],
                    static_cast<const std::byte*>(outcome) + fields_[f].offset, bytes_[f]);
    }
}

}  // namespace voltpile
