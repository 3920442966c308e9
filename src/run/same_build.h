// Refuses to start if nodes have different programs: ranks of two builds would speak two protocols and write
// two formats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/mpi/communicator.h"

namespace voltpile {

struct BuildIdentity {
    std::string host;
    std::string version;       // "0.1.0"
    std::string git_revision;  // "1a2b3c4d5e6f"
    std::string checksum;      // of the program file, 16 hexadecimal digits
};

// Returns 64 bits of XXH3 over the file's bytes, in hexadecimal. Throws FileError.
std::string file_checksum(const std::string& path);

// Returns the identity of the running program.
BuildIdentity this_build();

// Says which hosts have which build if there are several; empty if all have the same.
std::string mismatch_text(const std::vector<BuildIdentity>& builds);

// Collective: every rank calls. Throws AgreedError (CannotRun) on all ranks if their programs differ.
void check_same_build(const Communicator& world);

}  // namespace voltpile
