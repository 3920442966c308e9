// Whether a folder is the same on several hosts, tried with small files that are gone afterwards.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "cluster/hosts/report.h"

namespace voltpile {

// Removes the files that it has written when it goes.
class FolderProbe {
  public:
    FolderProbe() = default;
    ~FolderProbe();
    FolderProbe(const FolderProbe&) = delete;
    FolderProbe& operator=(const FolderProbe&) = delete;

    // Writes `text` into a new file. Returns why it could not; empty: it could.
    std::string write(const std::filesystem::path& file, const std::string& text);

  private:
    std::vector<std::filesystem::path> written_;
};

// Whether the file holds `text`, now or within `patience`: network file systems show new files a little
// later.
bool appears(const std::filesystem::path& file, const std::string& text, std::chrono::milliseconds patience);

// What the calling host left as `seen` and what this host leaves as `own`, both in the folder and with the
// same text.
FolderView look_at_folder(const std::filesystem::path& folder, const std::string& seen,
                          const std::string& own, const std::string& text, FolderProbe& probe);

}  // namespace voltpile
