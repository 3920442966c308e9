// Handles mapped files that another process shortens. Reading beyond the new end raises SIGBUS; the handler
// ends this process with a message that names the file, and ExitCode::Failed.
#pragma once

#include <cstddef>
#include <string>

namespace voltpile::llm {

struct MappedSlot;

// Registers a mapping during its lifetime. Mappings beyond the first few thousand at once are not watched.
class MappedRange {
  public:
    // path: must outlive this object at the same address.
    MappedRange(const std::byte* data, std::size_t size, const std::string& path);
    ~MappedRange();
    MappedRange(const MappedRange&) = delete;
    MappedRange& operator=(const MappedRange&) = delete;

  private:
    MappedSlot* slot_ = nullptr;
};

}  // namespace voltpile::llm
