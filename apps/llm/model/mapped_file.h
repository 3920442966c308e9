// A whole file, mapped for reading.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace voltpile::llm {

// The bytes stay valid, at the same address, for as long as the object lives. If another process shortens the
// file meanwhile, reading beyond its new end kills this one (SIGBUS), as with every mapped file.
class MappedFile {
  public:
    explicit MappedFile(std::string path);  // throws FileError, also for what is not a regular file
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    std::span<const std::byte> bytes() const { return {data_, size_}; }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace voltpile::llm
