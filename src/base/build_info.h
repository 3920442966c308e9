// Describes this build, for --version and for the provenance of results.
#pragma once

#include <string>

namespace voltpile {

struct BuildInfo {
    std::string version;       // "0.1.0"
    std::string git_revision;  // "1a2b3c4d5e6f", with "+" if the tree had changes; "unknown" outside git
    std::string cuda;          // toolkit's version, or "no"
    std::string nccl;
    std::string ucx;
    std::string compiler;
    std::string build_type;
};

BuildInfo build_info();

// Returns the lines that `voltpile --version` prints.
std::string to_text(const BuildInfo& info);

}  // namespace voltpile
