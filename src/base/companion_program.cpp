#include "base/companion_program.h"

namespace voltpile {

namespace fs = std::filesystem;

fs::path companion_program(const std::string& name) {
    std::error_code error;
    const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
    const fs::path above = folder.parent_path() / name;
    return !fs::exists(folder / name, error) && fs::exists(above, error) ? above : folder / name;
}

}  // namespace voltpile
