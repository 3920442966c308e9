#include "comm/mpi/library.h"

#include <dlfcn.h>
#include <mpi.h>

#include <cctype>
#include <filesystem>
#include <string_view>
#include <vector>

namespace voltpile {
namespace {

namespace fs = std::filesystem;

// "Open MPI v4.1.4, package: ...", "MPICH Version:\t4.0.2\n..."
void read_version(std::string_view text, MpiLibrary& library) {
    const auto digit = text.find_first_of("0123456789");
    if (digit == std::string_view::npos) {
        library.name = text.substr(0, text.find_first_of(",\n"));
        return;
    }
    library.version = text.substr(digit, text.find_first_not_of("0123456789.", digit) - digit);
    std::string_view name = text.substr(0, digit);
    if (const auto word = name.rfind("Version"); word != std::string_view::npos) name = name.substr(0, word);
    while (!name.empty() && (std::isspace(static_cast<unsigned char>(name.back())) || name.back() == 'v'))
        name.remove_suffix(1);
    library.name = name;
}

// The distribution lets several MPIs share the name mpirun: a link to another MPI's launcher does not count.
bool is_of_another(const fs::path& program) {
    std::error_code error;
    const std::string real = fs::canonical(program, error).filename().string();
    return error || real.find("mpich") != std::string::npos || real.find("hydra") != std::string::npos;
}

std::string launcher_of(const fs::path& library) {
    for (fs::path folder = library.parent_path(); folder.has_relative_path(); folder = folder.parent_path())
        for (const char* name : {"bin/mpirun", "bin/mpirun.openmpi"})
            if (!is_of_another(folder / name)) return folder / name;
    return is_of_another("/bin/mpirun") ? "" : "/bin/mpirun";
}

// Open MPI's plug-ins for PMI-1 and PMI-2, which most distributions leave out.
bool has_pmi_plugin(const fs::path& library) {
    const fs::path folder = library.parent_path();
    std::error_code error;
    for (const char* place : {"openmpi", "openmpi/lib/openmpi3", "openmpi/lib/openmpi", "openmpi3"})
        for (const char* plugin : {"mca_pmix_s1.so", "mca_pmix_s2.so"})
            if (fs::exists(folder / place / plugin, error)) return true;
    return false;
}

}  // namespace

MpiLibrary mpi_library() {
    MpiLibrary library;
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);  // one of the few calls allowed before MPI starts
    read_version({text, static_cast<std::size_t>(length)}, library);

    Dl_info where{};
    if (dladdr(reinterpret_cast<void*>(&MPI_Get_library_version), &where) && where.dli_fname) {
        std::error_code error;
        const fs::path file = fs::canonical(where.dli_fname, error);
        library.path = error ? where.dli_fname : file.string();
        library.launcher = launcher_of(library.path);
        if (library.name == "Open MPI") library.speaks_pmi = has_pmi_plugin(library.path);
    }
    return library;
}

}  // namespace voltpile
