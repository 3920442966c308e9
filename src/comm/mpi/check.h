// What every use of MPI needs.
#pragma once

#include <string>

namespace voltpile {

// Throws CommError naming the call, with MPI's text, unless it succeeded.
void mpi_check(int code, const char* call);

// As MPI counts it. Throws CommError for more than it can.
int mpi_length(const std::string& bytes);

}  // namespace voltpile
