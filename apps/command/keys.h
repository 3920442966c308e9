// The keys of job files of the command app.
#pragma once

#include "job/key_spec.h"

namespace voltpile {

AppSchema command_schema();

}  // namespace voltpile
