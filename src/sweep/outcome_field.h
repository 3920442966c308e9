// Connects the fields of a result with an app's outcomes: a plain struct for each point, from which every
// field copies one member.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "results/field.h"

namespace voltpile {

struct OutcomeField {
    FieldSpec spec;  // of fixed shape
    // Number of the field in the app's own table of fields: the index into GpuRange::values.
    int number = 0;
    std::size_t offset = 0;  // of the values in the app's outcome; spec.bytes_per_point() bytes
};

// One buffer per field for `points` points, as ResultWriter::submit takes them.
class OutcomeBuffers {
  public:
    // fields: must outlive the buffers.
    OutcomeBuffers(const std::vector<OutcomeField>& fields, std::size_t points);

    // Copies the fields' members of the app's outcome of a point. Different threads may store different
    // indices at the same time.
    void store(std::size_t index, const void* outcome);

    std::vector<FieldBuffer> release() { return std::move(data_); }

  private:
    const std::vector<OutcomeField>& fields_;
    std::vector<std::size_t> bytes_;  // of each field at a point
    std::vector<FieldBuffer> data_;
};

}  // namespace voltpile
