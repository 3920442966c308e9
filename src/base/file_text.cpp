#include "base/file_text.h"

#include <fstream>
#include <iterator>

namespace voltpile {

std::string file_text(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace voltpile
