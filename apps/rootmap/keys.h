// The root-map app's rows of the table of job-file keys, its example and its check.
#pragma once

#include "job/key_spec.h"

namespace voltpile {

AppSchema rootmap_schema();

}  // namespace voltpile
