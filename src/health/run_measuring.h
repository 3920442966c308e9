// The measurements of a node, in this process.
#pragma once

namespace voltpile {

// Measures the host's memory, then each GPU that is not in use, one after the other so that no power supply
// sees them start together, then each pair of them. Writes lines of figure_json.h to stdout. A GPU that fails
// is reported and left out from then on. Throws FileError if stdout takes no more.
void run_measuring();

}  // namespace voltpile
