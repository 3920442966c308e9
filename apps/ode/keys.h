// The ode app's rows of the table of job-file keys, its example and its check.
#pragma once

#include "job/key_spec.h"

namespace voltpile {

AppSchema ode_schema();

}  // namespace voltpile
