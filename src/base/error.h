// Errors and exit codes. An Error names its culprit; whoever decides prints it once (see run/runner and
// main.cpp).
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile {

// The process's exit codes, as documented in README.md and `voltpile --help`.
enum class ExitCode : int {
    Done = 0,
    BadInput = 2,   // the job file or the arguments are wrong
    CannotRun = 3,  // this machine cannot run the job
    Failed = 4,     // it failed in running
    Stopped = 5,    // it was stopped and can be resumed
};

class Error : public std::runtime_error {
  public:
    Error(ExitCode exit_code, const std::string& message)
        : std::runtime_error(message), exit_code_(exit_code) {}
    ExitCode exit_code() const { return exit_code_; }

  private:
    ExitCode exit_code_;
};

// Everything that is wrong with a job file or with the arguments, one problem a line: `file:line: message`.
class JobError : public Error {
  public:
    explicit JobError(const std::string& problem) : Error(ExitCode::BadInput, problem) {}
    explicit JobError(const std::vector<std::string>& problems);
};

// The machine lacks what the job asks for.
class MachineError : public Error {
  public:
    explicit MachineError(const std::string& message) : Error(ExitCode::CannotRun, message) {}
};

class DeviceError : public Error {
  public:
    explicit DeviceError(const std::string& message) : Error(ExitCode::Failed, message) {}
};

class CommError : public Error {
  public:
    explicit CommError(const std::string& message) : Error(ExitCode::Failed, message) {}
};

// A call on a file failed: "cannot write results/a.h5: No space left on device".
class FileError : public Error {
  public:
    // action: "open", "write", ...; error_number: errno of the call.
    FileError(std::string_view action, std::string_view path, int error_number,
              ExitCode exit_code = ExitCode::Failed);
    FileError(const std::string& message, ExitCode exit_code = ExitCode::Failed)
        : Error(exit_code, message) {}
};

}  // namespace voltpile
