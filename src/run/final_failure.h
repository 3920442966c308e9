// Failures that the same command would meet again: `voltpile launch` does not repeat a job after one.
#pragma once

#include <string>

#include "base/error.h"

namespace voltpile {

// The exit code of a job's ranks for such a failure under `voltpile launch`, and there alone. It reaches the
// launch over any launcher, from any node. Everyone else sees ExitCode::Failed.
inline constexpr ExitCode kFinalFailure{6};

class FinalError : public Error {
  public:
    explicit FinalError(const std::string& message) : Error(kFinalFailure, message) {}
};

// Returns the exit code of this process after an error with this code.
ExitCode process_exit_code(ExitCode code);

}  // namespace voltpile
