// The outcome of one point, and its members that can be fields of a result.
#pragma once

#include <cstdint>

namespace voltpile::rootmap {

// Indexed by Field; all members of Outcome. outcome_fields.cpp describes them.
#define VOLTPILE_ROOTMAP_FIELDS(USE) \
    USE(iterations)                  \
    USE(root)                        \
    USE(smooth)                      \
    USE(distance)                    \
    USE(period)                      \
    USE(final_z)                     \
    USE(quality)

struct Outcome {
    // Steps done until the point was decided, the deciding one included.
    std::int32_t iterations = 0;
    std::int32_t root = 0;     // 1, 2, ...: which root was reached; 0: none
    double smooth = 0;         // iterations as a real number that is continuous over the map
    double distance = 0;       // estimate of the distance to the set; 0 inside
    std::int32_t period = 0;   // of the cycle that was reached; 0: none
    double final_z[2] = {};    // the last point reached
    std::int32_t quality = 0;  // a Quality
};

enum class Quality : std::int32_t {
    Decided,         // a root or cycle was reached, or the point escaped
    Stopped,         // max_iterations were spent before
    NotFinite,       // the next point is too large for the precision, or not a number
    ZeroDerivative,  // the next step would divide by zero
};

enum class Field : int {
#define VOLTPILE_ENUMERATOR(member) member,
    VOLTPILE_ROOTMAP_FIELDS(VOLTPILE_ENUMERATOR)
#undef VOLTPILE_ENUMERATOR
};

}  // namespace voltpile::rootmap
