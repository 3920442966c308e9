// Errors that all ranks of a communicator learn of together: then all leave in order with the same exit code,
// and rank 0 alone prints. An error that one rank meets alone has another type and ends the job by
// end_all_ranks().
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/mpi/communicator.h"
#include "comm/mpi/session.h"

namespace voltpile {

// Throws AgreedError. Only for what every rank finds alike, from data that is the same on all.
[[noreturn]] void throw_agreed(ExitCode exit_code, const std::string& message);

// An error that every rank of a communicator throws at the same call with the same text. Only the functions
// below make one, so that no rank can throw it alone.
class AgreedError : public Error {
  private:
    using Error::Error;
    friend void throw_agreed(ExitCode, const std::string&);
};

// Collective: every rank calls. Returns rank 0's `decide()` on all ranks. Throws AgreedError if it threw.
std::string decide_on_root(const Communicator& world, const std::function<std::string()>& decide);

// Collective: every rank calls. Returns the `body()` of every rank, by rank. Throws AgreedError with the text
// of the first rank whose body threw.
std::vector<std::string> all_agree(const Communicator& world, const std::function<std::string()>& body);

// Returns the exit code of an Error, Failed for other exceptions.
ExitCode exit_code_of(const std::exception& error);

// An error that has been printed where it was met, because there was little time left.
class PrintedError : public Error {
  public:
    using Error::Error;
};

// For an error that a rank meets alone: prints it, with the rank's number and host, unless it is a
// PrintedError, and ends all ranks.
[[noreturn]] void end_all_ranks(const MpiSession& session, const std::exception& error);

// Calls `function`, which every rank computes alike from the same data: an Error becomes an AgreedError.
template <class Function>
auto agreed(Function&& function) {
    try {
        return function();
    } catch (const Error& error) {
        throw_agreed(error.exit_code(), error.what());
    }
}

}  // namespace voltpile
