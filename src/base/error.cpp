#include "base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <system_error>

namespace voltpile {

JobError::JobError(const std::vector<std::string>& problems)
    : Error(ExitCode::BadInput, fmt::format("{}", fmt::join(problems, "\n"))) {}

FileError::FileError(std::string_view action, std::string_view path, int error_number, ExitCode exit_code)
    : Error(exit_code,
            fmt::format("cannot {} {}: {}", action, path, std::generic_category().message(error_number))) {}

}  // namespace voltpile
