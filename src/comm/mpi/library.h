// The MPI that this program is linked with, as far as it can be told before MPI starts.
#pragma once

#include <string>

namespace voltpile {

struct MpiLibrary {
    std::string name;      // "Open MPI"
    std::string version;   // "4.1.4": of the library that is loaded
    std::string path;      // the library's file
    std::string launcher;  // "/usr/bin/mpirun", the one that belongs to it; empty if there is none beside it
    bool speaks_pmi = true;  // can be started over PMI-1 or PMI-2, not only over PMIx
};

MpiLibrary mpi_library();

}  // namespace voltpile
