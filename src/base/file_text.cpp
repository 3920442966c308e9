#include "base/file_text.h"

#include <array>
#include <fstream>

namespace voltpile {

std::string file_text(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::string text;
    std::array<char, 4096> some;
    // Unlike iterators over the stream's buffer, read() does not throw when a file of /proc loses its
    // process.
    while (in.read(some.data(), some.size()), in.gcount() > 0)
        text.append(some.data(), static_cast<std::size_t>(in.gcount()));
    return in.bad() ? std::string() : text;
}

}  // namespace voltpile
