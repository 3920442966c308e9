// Checks that a command may write its output file, before the work starts. A command replaces a file only if
// the same command wrote it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile {

// The kind of file that one command writes.
struct OutputKind {
    std::string writer;  // for messages: "voltpile plot"
    // Whether `path`, an existing regular file, is of this kind. Returns false for files that it cannot read.
    std::function<bool(const std::filesystem::path& path)> recognizes;
};

// Checks that a file can be created at `path`, or replaced there. Throws JobError, prefixed with `option`
// ("--output"), if the folder does not exist or is not writable, if `path` exists and is not a regular file
// (a rename would replace a device), or if `path` is one of `kept`, under any name: the files that the
// command reads or also writes.
void check_output_place(const std::filesystem::path& path, std::string_view option,
                        const std::vector<std::filesystem::path>& kept = {});

// Does what check_output_place does, and throws JobError if `path` is a file of another kind.
void check_output_file(const std::filesystem::path& path, std::string_view option, const OutputKind& kind,
                       const std::vector<std::filesystem::path>& kept = {});

}  // namespace voltpile
