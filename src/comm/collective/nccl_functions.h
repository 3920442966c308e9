// The functions of NCCL that Voltpile calls, each the namesake of its definition in nccl_functions.cpp. No
// program links NCCL: it is loaded at the first call.
#pragma once

namespace voltpile {

// Returns whether NCCL can be loaded. Its functions throw MachineError where it cannot.
bool nccl_loads();

}  // namespace voltpile
