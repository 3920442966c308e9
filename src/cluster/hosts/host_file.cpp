#include "cluster/hosts/host_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "base/error.h"

namespace voltpile {
namespace {

// No host file is larger. Bounds the read if someone names a device instead.
constexpr std::size_t kMostBytes = std::size_t{16} << 20;
constexpr std::string_view blanks = " \t\r\v\f";

// Accepts the characters of names and addresses. ssh would read a name that starts with "-" as an option.
bool is_host_name(std::string_view name) {
    static constexpr std::string_view others = ".-_:%";
    if (name.empty() || name.front() == '-') return false;
    for (const char c : name) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!plain && others.find(c) == std::string_view::npos) return false;
    }
    return true;
}

std::optional<int> positive_number(std::string_view text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 1) return std::nullopt;
    return value;
}

// "name slots = 2" -> name, slots, =, 2
std::vector<std::string_view> host_line_words(std::string_view line) {
    std::vector<std::string_view> words;
    line = line.substr(0, line.find('#'));
    while (true) {
        const auto begin = line.find_first_not_of(blanks);
        if (begin == std::string_view::npos) return words;
        line.remove_prefix(begin);
        // "=" is a word of its own, except within the host's name.
        const bool in_name = words.empty();
        const auto end =
            line.front() == '=' && !in_name
                ? 1
                : std::min(line.find_first_of(in_name ? " \t\r\v\f" : " \t\r\v\f="), line.size());
        words.push_back(line.substr(0, end));
        line.remove_prefix(end);
    }
}

class Reader {
  public:
    explicit Reader(std::string source) : source_(std::move(source)) {}

    // A file that is none of hosts must not reach the terminal's control characters.
    void problem(int line, std::string message) {
        std::ranges::replace_if(
            message, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
        problems_.push_back(line > 0 ? fmt::format("{}:{}: {}", source_, line, message)
                                     : fmt::format("{}: {}", source_, message));
    }

    void add_host(HostEntry entry, std::string_view word) {
        const auto at = word.find('@');
        if (at != std::string_view::npos) entry.user = word.substr(0, at);
        entry.name = word.substr(at == std::string_view::npos ? 0 : at + 1);
        if (!is_host_name(entry.name) || (at != std::string_view::npos && !is_host_name(entry.user))) {
            problem(entry.line, fmt::format("\"{}\" is not a host name", word));
            return;
        }
        const auto [first, is_new] = line_of_.emplace(entry.name, entry.line);
        if (!is_new) {
            problem(entry.line,
                    first->second > 0
                        ? fmt::format("{} is already on line {}: list it once, with slots=N", entry.name,
                                      first->second)
                        : fmt::format("{} is listed twice: list it once, as {}:N", entry.name, entry.name));
            return;
        }
        entries_.push_back(std::move(entry));
    }

    void read_line(std::string_view text, int line) {
        const auto words = host_line_words(text);
        if (words.empty()) return;
        HostEntry entry;
        entry.line = line;
        for (std::size_t i = 1; i < words.size(); i += 3) {
            const std::string_view key = words[i];
            if (i + 1 >= words.size() || words[i + 1] != "=") {
                problem(line,
                        fmt::format("\"{}\" after the host's name: expected slots=N or max_slots=N", key));
                return;
            }
            const std::string_view value = i + 2 < words.size() ? words[i + 2] : "";
            if (key != "slots" && key != "max_slots" && key != "max-slots") {
                problem(line, fmt::format("unknown setting \"{}\": use slots or max_slots", key));
                return;
            }
            const auto count = positive_number(value);
            if (!count) {
                problem(line, fmt::format("{}={}: must be an integer of at least 1", key, value));
                return;
            }
            (key == "slots" ? entry.slots : entry.max_slots) = *count;
        }
        if (entry.max_slots > 0 && entry.slots > entry.max_slots)
            problem(line, fmt::format("slots={} is more than max_slots={}", entry.slots, entry.max_slots));
        add_host(std::move(entry), words.front());
    }

    std::vector<HostEntry> finish(const char* if_empty) {
        if (problems_.empty() && entries_.empty()) problem(0, if_empty);
        if (!problems_.empty()) throw JobError(problems_);
        return std::move(entries_);
    }

  private:
    std::string source_;
    std::vector<std::string> problems_;
    std::vector<HostEntry> entries_;
    std::map<std::string, int> line_of_;
};

}  // namespace

std::vector<HostEntry> parse_host_file(std::string_view text, const std::string& path) {
    Reader reader(path);
    for (int line = 1; !text.empty(); ++line) {
        const auto end = std::min(text.find('\n'), text.size());
        reader.read_line(text.substr(0, end), line);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return reader.finish("no hosts: write one per line, such as `node1 slots=4`");
}

std::vector<HostEntry> load_host_file(const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) throw FileError("read", path, EISDIR, ExitCode::BadInput);
    std::ifstream file(path, std::ios::binary);
    if (!file) throw FileError("read", path, errno, ExitCode::BadInput);
    std::string text(kMostBytes + 1, '\0');
    file.read(text.data(), std::ssize(text));
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMostBytes)
        throw JobError(fmt::format("{}: larger than 16 MiB, so it is not a host file", path));
    return parse_host_file(text, path);
}

std::vector<HostEntry> parse_host_list(std::string_view list) {
    Reader reader("--host");
    while (!list.empty()) {
        const auto end = std::min(list.find(','), list.size());
        const std::string_view item = list.substr(0, end);
        list.remove_prefix(std::min(end + 1, list.size()));
        HostEntry entry;
        const auto colon = item.find(':');
        if (colon != std::string_view::npos) {
            const auto count = positive_number(item.substr(colon + 1));
            if (!count) {
                reader.problem(0, fmt::format("\"{}\": expected a number of slots after the colon", item));
                continue;
            }
            entry.slots = *count;
        }
        reader.add_host(std::move(entry), item.substr(0, colon));
    }
    return reader.finish("no hosts");
}

}  // namespace voltpile
