// `voltpile model eval`, and the measurement that other commands end with.
#pragma once

#include <string>

#include "base/error.h"
#include "comm/mpi/session.h"
#include "llm/replica/replica_plan.h"

namespace voltpile::cli {

struct EvalArguments {
    std::string model;
    std::string text;       // a file; "-": stdin
    std::string given;      // its text, if it has been read, on rank 0
    std::string reference;  // the model to compare with; empty: none
    int stride = 0;
    int rows = 256;
    bool second_halves = false;
    bool no_begin_token = false;
    bool json = false;
    llm::ReplicaRequest replica;
};

// Measures a model and prints the figures on one rank. Collective over the world.
ExitCode evaluate_model(const MpiSession& session, EvalArguments args);

// Returns the bytes of a text file. Throws FileError with ExitCode::BadInput.
std::string read_text(const std::string& path);

}  // namespace voltpile::cli
