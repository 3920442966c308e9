// The keys of a job of the `llm` app.
#pragma once

#include "job/key_spec.h"

namespace voltpile {

AppSchema llm_schema();

}  // namespace voltpile
