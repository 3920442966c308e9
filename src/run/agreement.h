// Errors that all ranks learn of together: then all leave in order with the same exit code, and rank 0 alone
// prints. (An error that one rank has alone ends the job by MpiSession::abort instead.)
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/mpi/communicator.h"
#include "comm/mpi/session.h"

namespace voltpile {

class AgreedError : public Error {
  public:
    using Error::Error;
};

// Collective: rank 0 decides, all ranks get its answer, or AgreedError if it threw.
std::string decide_on_root(const Communicator& world, const std::function<std::string()>& decide);

// Collective: each rank does its bit, and everybody gets everybody's answers, by rank, or AgreedError with
// what the first of those that failed says.
std::vector<std::string> all_agree(const Communicator& world, const std::function<std::string()>& body);

// An Error's own, Failed for others.
ExitCode exit_code_of(const std::exception& error);

// What a rank has met alone: prints it, with where it was, and ends all ranks.
[[noreturn]] void end_all_ranks(const MpiSession& session, const std::exception& error);

// For what every rank computes alike from the same data: an Error becomes an AgreedError.
template <class Function>
auto agreed(Function&& function) {
    try {
        return function();
    } catch (const Error& error) {
        throw AgreedError(error.exit_code(), error.what());
    }
}

}  // namespace voltpile
