#include "cluster/slurm/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

namespace voltpile {
namespace {

std::optional<std::int64_t> to_integer(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> pieces;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(separator, begin), text.size());
        pieces.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return pieces;
}

// Returns the key of a word: "Gres" of "Gres=gpu:4"; "" if the word does not start with a key.
std::string_view key_of(std::string_view word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos || equals == 0) return {};
    const std::string_view key = word.substr(0, equals);
    const auto is_key_character = [](unsigned char c) {
        return std::isalnum(c) || c == '_' || c == '/' || c == ':';
    };
    const bool good = std::isalpha(static_cast<unsigned char>(key.front())) &&
                      std::all_of(key.begin(), key.end(), is_key_character);
    return good ? key : std::string_view{};
}

// Parses a list of sockets: "0-1" or "0,2", as in "(S:0-1)".
std::vector<int> parse_sockets(std::string_view text) {
    std::vector<int> sockets;
    for (std::string_view piece : split(text, ',')) {
        const std::size_t dash = piece.find('-');
        const auto first = to_integer(piece.substr(0, dash));
        const auto last = dash == std::string_view::npos ? first : to_integer(piece.substr(dash + 1));
        if (!first || !last || *last - *first > 1024) return {};
        for (std::int64_t socket = *first; socket <= *last; ++socket)
            sockets.push_back(static_cast<int>(socket));
    }
    return sockets;
}

// Parses one item such as "gpu:v100:4(S:0-1)". Returns nothing for items other than GPUs.
std::optional<GresGpus> parse_gres_item(std::string_view item) {
    GresGpus gpus;
    const std::size_t open = item.find('(');
    if (open != std::string_view::npos) {
        const std::string_view inside = item.substr(open + 1, item.find(')', open) - open - 1);
        if (inside.starts_with("S:")) gpus.sockets = parse_sockets(inside.substr(2));
        item = item.substr(0, open);
    }
    const auto words = split(item, ':');
    if (words.front() != "gpu") return std::nullopt;
    gpus.count = 1;
    std::size_t type_words = words.size();
    if (const auto count = to_integer(words.back()); count && words.size() > 1) {
        gpus.count = static_cast<int>(*count);
        --type_words;
    }
    if (type_words > 1) gpus.type = words[1];
    return gpus;
}

}  // namespace

std::string trimmed(std::string_view text) {
    const auto begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return "";
    return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1));
}

SlurmRecord::SlurmRecord(std::string_view line) {
    std::string key, value;
    const auto keep = [&] {
        if (!key.empty()) values_.emplace(key, trimmed(value == "(null)" ? "" : value));
    };
    for (std::string_view word : split(line, ' ')) {
        if (const std::string_view next = key_of(word); !next.empty()) {
            keep();
            key = next;
            value = word.substr(next.size() + 1);
        } else {
            value += ' ';
            value += word;
        }
    }
    keep();
    for (auto& [name, text] : values_)
        if (text == "(null)") text.clear();
}

const std::string& SlurmRecord::text(const std::string& key) const {
    static const std::string none;
    const auto found = values_.find(key);
    return found == values_.end() ? none : found->second;
}

std::int64_t SlurmRecord::integer(const std::string& key) const {
    return to_integer(text(key)).value_or(0);
}

std::vector<SlurmRecord> parse_records(std::string_view output) {
    std::vector<SlurmRecord> records;
    for (std::string_view line : split(output, '\n'))
        if (!trimmed(line).empty() && !key_of(line.substr(0, line.find(' '))).empty())
            records.emplace_back(line);
    return records;
}

std::optional<std::int64_t> config_integer(std::string_view output, std::string_view key) {
    for (std::string_view line : split(output, '\n')) {
        const std::size_t equals = line.find('=');
        if (equals == std::string_view::npos || trimmed(line.substr(0, equals)) != key) continue;
        return to_integer(trimmed(line.substr(equals + 1)));
    }
    return std::nullopt;
}

std::optional<double> parse_slurm_time(std::string_view text) {
    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (lower == "unlimited" || lower == "infinite") return std::numeric_limits<double>::infinity();

    const std::size_t dash = text.find('-');
    const bool with_days = dash != std::string_view::npos;
    std::vector<double> numbers;
    for (std::string_view piece : split(with_days ? text.substr(dash + 1) : text, ':')) {
        const auto number = to_integer(piece);
        if (!number || *number < 0) return std::nullopt;
        numbers.push_back(static_cast<double>(*number));
    }
    if (numbers.size() > 3) return std::nullopt;
    if (with_days) {
        const auto days = to_integer(text.substr(0, dash));
        if (!days || *days < 0) return std::nullopt;
        numbers.resize(3);
        return static_cast<double>(*days) * 86400 + numbers[0] * 3600 + numbers[1] * 60 + numbers[2];
    }
    if (numbers.size() == 1) return numbers[0] * 60;
    if (numbers.size() == 2) return numbers[0] * 60 + numbers[1];
    return numbers[0] * 3600 + numbers[1] * 60 + numbers[2];
}

std::string slurm_time_text(double seconds) {
    if (std::isinf(seconds)) return "UNLIMITED";
    const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
    const std::string of_day =
        fmt::format("{:02}:{:02}:{:02}", whole / 3600 % 24, whole / 60 % 60, whole % 60);
    return whole < 86400 ? of_day : fmt::format("{}-{}", whole / 86400, of_day);
}

std::vector<GresGpus> parse_gres(std::string_view text) {
    std::vector<GresGpus> all;
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t at = 0; at <= text.size(); ++at) {
        if (at < text.size() && text[at] == '(') ++depth;
        if (at < text.size() && text[at] == ')') --depth;
        if (at < text.size() && (text[at] != ',' || depth > 0)) continue;
        if (auto gpus = parse_gres_item(text.substr(begin, at - begin)); gpus && gpus->count > 0)
            all.push_back(std::move(*gpus));
        begin = at + 1;
    }
    return all;
}

}  // namespace voltpile
