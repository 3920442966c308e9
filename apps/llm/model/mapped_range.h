// Files in memory that another process may cut short: reading beyond their new end raises SIGBUS, which ends
// this one with a message that names the file, and ExitCode::Failed.
#pragma once

#include <cstddef>
#include <string>

namespace voltpile::llm {

struct MappedSlot;

// While it lives, these bytes are known to be those of the file `path`. Of very many files at once those
// beyond the first thousands are not watched.
class MappedRange {
  public:
    // path: stays where it is for as long as this lives.
    MappedRange(const std::byte* data, std::size_t size, const std::string& path);
    ~MappedRange();
    MappedRange(const MappedRange&) = delete;
    MappedRange& operator=(const MappedRange&) = delete;

  private:
    MappedSlot* slot_ = nullptr;
};

}  // namespace voltpile::llm
