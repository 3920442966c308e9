// A file mapped for reading.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "llm/model/mapped_range.h"

namespace voltpile::llm {

// The bytes stay valid at the same address during the object's lifetime. If another process shortens the file
// meanwhile, reading beyond its new end ends this process with an error that names the file, see MappedRange.
class MappedFile {
  public:
    explicit MappedFile(std::string path);  // throws FileError, also unless it is a regular file
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    std::span<const std::byte> bytes() const { return {data_, size_}; }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
    std::optional<MappedRange> range_;
};

}  // namespace voltpile::llm
