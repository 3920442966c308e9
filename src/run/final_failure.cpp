#include "run/final_failure.h"

#include <cstdlib>

#include "run/watchdog.h"

namespace voltpile {

ExitCode process_exit_code(ExitCode code) {
    const bool launched = std::getenv(kLogFolderVariable) != nullptr;
    return code == kFinalFailure && !launched ? ExitCode::Failed : code;
}

}  // namespace voltpile
