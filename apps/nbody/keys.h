// The nbody app's rows of the table of job-file keys, its example and its check.
#pragma once

#include "job/key_spec.h"

namespace voltpile {

AppSchema nbody_schema();

}  // namespace voltpile
