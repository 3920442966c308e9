#include "comm/mpi/check.h"

#include <fmt/format.h>
#include <mpi.h>

#include <limits>

#include "base/error.h"

namespace voltpile {

void mpi_check(int code, const char* call) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw CommError(
        fmt::format("{} failed: {}", call, std::string_view(text, static_cast<std::size_t>(length))));
}

int mpi_length(const std::string& bytes) {
    if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        throw CommError(fmt::format("a message of {} bytes is too long for MPI", bytes.size()));
    return static_cast<int>(bytes.size());
}

}  // namespace voltpile
