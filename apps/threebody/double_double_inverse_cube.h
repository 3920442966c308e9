// What the three-body code needs to compute in double-double: the type of a point's values, and r^-3.
#pragma once

#include "sweep/double_double_inverse_cube.h"
#include "threebody/parameters.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

template <>
struct ValueOf<DoubleDouble<double>> {
    using type = DoubleDouble<double>;
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
