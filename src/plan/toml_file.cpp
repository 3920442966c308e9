#include "plan/toml_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/error.h"

namespace voltpile {

std::string toml_file_text(const std::string& path, const char* what) {
    constexpr std::size_t most_bytes = std::size_t{1} << 20;
    std::ifstream file(path, std::ios::binary);
    if (!file) throw JobError(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
    std::string text(most_bytes + 1, '\0');
    file.read(text.data(), std::ssize(text));
    if (file.bad()) throw JobError(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > most_bytes)
        throw JobError(fmt::format("{}: larger than 1 MiB, so it is not {}", path, what));
    return text;
}

toml::table parse_toml(const std::string& text, const std::string& path) {
    try {
        return toml::parse(text, path);
    } catch (const toml::parse_error& error) {
        const auto at = error.source().begin;
        if (at.line == 0) throw JobError(fmt::format("{}: {}", path, error.description()));
        throw JobError(fmt::format("{}:{}:{}: {}", path, at.line, at.column, error.description()));
    }
}

std::string toml_text(const std::string& text) {
    constexpr unsigned char space = 0x20, del = 0x7f;
    std::string out = "\"";
    for (const char c : text) {
        const auto code = static_cast<unsigned char>(c);
        if (code < space || code == del) {
            out += fmt::format("\\u{:04X}", code);
            continue;
        }
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + "\"";
}

}  // namespace voltpile
