#include "command/progress_patterns.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>

#include "base/error.h"
#include "job/named_texts.h"

namespace voltpile::command {
namespace {

std::optional<double> number_in(const std::string& text) {
    double number = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
    if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
    return number;
}

}  // namespace

ProgressPatterns::ProgressPatterns(const JobSpec& job) {
    for (const auto& [name, pattern] : named_texts(job, "progress.NAME"))
        patterns_.emplace_back(name, OutputPattern(pattern));
}

void ProgressPatterns::read(const std::string& text) {
    for (const auto& [name, pattern] : patterns_) {
        const auto match = pattern.last_match(text);
        if (!match) continue;
        const std::optional<double> number = number_in(match->front());
        if (!number) continue;
        Gauge gauge{name, "", Gauge::Kind::Mean, *number};
        if (match->size() > 1 && !(*match)[1].empty()) gauge.unit = "of " + (*match)[1];
        gauges_[name] = std::move(gauge);
    }
}

std::vector<Gauge> ProgressPatterns::gauges() const {
    std::vector<Gauge> all;
    for (const auto& [name, pattern] : patterns_)
        if (const auto found = gauges_.find(name); found != gauges_.end()) all.push_back(found->second);
    return all;
}

std::vector<std::string> ProgressPatterns::unmatched() const {
    std::vector<std::string> names;
    for (const auto& [name, pattern] : patterns_)
        if (!gauges_.contains(name)) names.push_back(name);
    return names;
}

void check_progress_patterns(const JobSpec& job, const ReportProblem& report) {
    for (const auto& [name, pattern] : named_texts(job, "progress.NAME")) {
        const std::string key = "progress." + name;
        try {
            OutputPattern{pattern};
        } catch (const JobError& error) {
            report(key, fmt::format("{} = '{}': {}", key, pattern, error.what()));
        }
    }
}

std::string recent_text(const std::filesystem::path& path, std::uintmax_t begin) {
    constexpr std::uintmax_t most = 64 << 10;
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (error || size <= begin) return "";
    if (size - begin > most) begin = size - most;
    std::string text(static_cast<std::size_t>(size - begin), '\0');
    std::ifstream file(path, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(begin));
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    return text;
}

}  // namespace voltpile::command
