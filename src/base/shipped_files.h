// Finds the files that come with the program: jobs, machine descriptions, environments for Slurm.
#pragma once

#include <filesystem>
#include <string>

namespace voltpile {

// The folder that holds `jobs`, `data` and `slurm`: PREFIX/share/voltpile of an installed program, or the top
// of the source tree of a program in a build folder, which may lie anywhere. Empty if there is neither.
std::filesystem::path shipped_folder();

// Returns the same for a program in this folder.
std::filesystem::path shipped_folder_of(const std::filesystem::path& program_folder);

// Returns the path of the file that a user named in an argument or a job file.
//
// A path that exists is returned unchanged. Any other name is looked up below `top`: as a path from `top`
// ("jobs/threebody/seed_map.toml"), then, unless `folder` is empty, as a path from `top`/`folder`
// ("threebody/seed_map.toml"), then as a file name anywhere in `folder` ("seed_map"). The extension may be
// left out in the last two. Returns `name` unchanged if nothing matches, so that the caller's message shows
// what the user wrote. Throws JobError if several files in `folder` have that name.
std::string find_shipped(const std::string& name, const std::string& folder,
                         const std::filesystem::path& top = shipped_folder());

}  // namespace voltpile
