// The keys of jobs that serve a language model.
#pragma once

#include "job/key_spec.h"

namespace voltpile {

AppSchema serve_schema();

}  // namespace voltpile
