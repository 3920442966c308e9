#include "base/cache_folder.h"

#include <cstdlib>

namespace voltpile {

namespace fs = std::filesystem;

fs::path default_cache_folder() {
    if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
        return fs::path(cache) / "voltpile";
    if (const char* home = std::getenv("HOME"); home && *home) return fs::path(home) / ".cache" / "voltpile";
    return {};
}

}  // namespace voltpile
