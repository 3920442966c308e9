// Reads what the kernel shows as files: /sys and /proc.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace voltpile {

// Returns /sys, or the copy of it that VOLTPILE_SYS names: where PCI devices and sensors are looked up.
std::filesystem::path sys_folder();

// Returns the first line without its newline; empty if the file cannot be read, as where the kernel has no
// answer.
std::string first_line(const std::filesystem::path& file);

// Returns the paths of a folder's entries, sorted; none if the folder cannot be read.
std::vector<std::filesystem::path> sorted_entries(const std::filesystem::path& folder);

struct Ancestor {
    int pid = 0;
    std::string name;  // "mpirun": at most 15 characters
};

// Returns this process's parent, its parent and so on, without init: at most 8 generations.
std::vector<Ancestor> ancestors_of_this_process();

}  // namespace voltpile
