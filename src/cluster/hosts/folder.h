// Tests with small temporary files whether several hosts see the same folder.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "cluster/hosts/report.h"

namespace voltpile {

// Writes files and removes them in its destructor.
class FolderProbe {
  public:
    FolderProbe() = default;
    ~FolderProbe();
    FolderProbe(const FolderProbe&) = delete;
    FolderProbe& operator=(const FolderProbe&) = delete;

    // Writes `text` into a new file. Returns an error message, or "" on success.
    std::string write(const std::filesystem::path& file, const std::string& text);

  private:
    std::vector<std::filesystem::path> written_;
};

// Returns whether the file contains `text`, now or within `patience`: network file systems show new files
// with a delay.
bool appears(const std::filesystem::path& file, const std::string& text, std::chrono::milliseconds patience);

// Looks for the file `seen` that the calling host wrote and writes the file `own`, both in `folder` with the
// contents `text`.
FolderView look_at_folder(const std::filesystem::path& folder, const std::string& seen,
                          const std::string& own, const std::string& text, FolderProbe& probe);

}  // namespace voltpile
