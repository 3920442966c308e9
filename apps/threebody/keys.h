// The three-body app's rows of the table of job-file keys, its example and its check.
#pragma once

#include "job/key_spec.h"

namespace voltpile {

AppSchema threebody_schema();

}  // namespace voltpile
