// For which GPUs the program was compiled.
#pragma once

namespace voltpile::llm {

// Returns 10 * major + minor of the compute capability for which the code that the current GPU runs was
// compiled: its own, or a lower one whose PTX the driver has compiled. Throws DeviceError.
int loaded_code();

}  // namespace voltpile::llm
