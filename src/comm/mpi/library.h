// The MPI library this program is linked with, as far as it is known before MPI starts.
#pragma once

#include <string>

namespace voltpile {

struct MpiLibrary {
    std::string name;        // "Open MPI"
    std::string version;     // "4.1.4": of the loaded library
    std::string path;        // the library's file
    std::string launcher;    // "/usr/bin/mpirun", the launcher that belongs to it; empty if none is beside it
    bool speaks_pmi = true;  // it starts over PMI-1 or PMI-2 too, not only over PMIx
};

MpiLibrary mpi_library();

}  // namespace voltpile
