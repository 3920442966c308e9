// An HDF5 file that is written in memory. Private to src/results.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "results/hdf5/handle.h"

namespace voltpile {

// In HDF5's newest format, which has checksums over all of its own structures. The caller holds an Hdf5Guard.
class Hdf5Image {
  public:
    // path: the name of the file, for errors. expected_bytes: a hint.
    Hdf5Image(const std::string& path, std::size_t expected_bytes);

    hid_t file() const { return file_.get(); }

    // Closes the file and returns its bytes. Close everything opened in it before.
    std::vector<std::byte> finish();

  private:
    std::string path_;
    std::unique_ptr<std::vector<std::byte>> bytes_;  // HDF5 has its address, so it must not move
    Hdf5File file_;
};

}  // namespace voltpile
