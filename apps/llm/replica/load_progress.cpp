#include "llm/replica/load_progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/seconds_since.h"
#include "run/parent_launcher.h"

namespace voltpile::llm {

std::string loading_text(double bytes, double of_bytes, double seconds) {
    return fmt::format("loading {} of {} a rank  {:.0f} %  {}/s", bytes_text(bytes), bytes_text(of_bytes),
                       of_bytes > 0 ? std::min(100 * bytes / of_bytes, 100.0) : 100.0,
                       bytes_text(seconds > 0 ? bytes / seconds : 0));
}

LoadProgress::LoadProgress(std::uint64_t of_bytes, bool shown)
    : of_bytes_(static_cast<double>(of_bytes)), shown_(shown), line_(shown ? terminal_columns() : 0) {}

void LoadProgress::add(std::uint64_t bytes) {
    bytes_ += static_cast<double>(bytes);
    if (!shown_) return;
    const double seconds = seconds_since(begin_);
    if (line_.due(seconds)) line_.show(loading_text(bytes_, of_bytes_, seconds));
}

}  // namespace voltpile::llm
