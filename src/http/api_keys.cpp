#include "http/api_keys.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "http/message.h"

namespace voltpile::http {
namespace {

constexpr std::string_view weight_word = "weight=";
constexpr double least_weight = 0.001, most_weight = 1000;

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

bool is_visible_ascii(const std::string& word) {
    return std::ranges::all_of(word, [](unsigned char c) { return c > ' ' && c < 0x7f; });
}

// Returns 0 if the word is no number.
double number_of(const std::string& word) {
    double number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    return error == std::errc() && end == word.data() + word.size() ? number : 0;
}

}  // namespace

ApiKeys::ApiKeys(const std::vector<ApiKey>& keys) {
    for (const ApiKey& key : keys) entries_.push_back({digest(key.key), key.name, key.weight});
}

std::string ApiKeys::name(std::size_t number) const {
    const std::string& name = entries_[number].name;
    return name.empty() ? fmt::format("key {}", number + 1) : name;
}

std::vector<ApiKey> read_api_keys(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw FileError("read", path, errno, ExitCode::BadInput);
    if (std::filesystem::is_directory(path)) throw FileError("read", path, EISDIR, ExitCode::BadInput);
    std::vector<ApiKey> keys;
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
        const std::vector<std::string> words = words_of(line);
        if (words.empty() || words.front().front() == '#') continue;
        const auto check = [&](bool good, std::string_view says) {
            if (!good) throw JobError(fmt::format("{}:{}: {}", path, number, says));
        };
        check(std::ranges::all_of(words, [](const std::string& word) { return is_visible_ascii(word); }),
              "a key consists of visible ASCII characters without spaces");
        ApiKey key{words[0]};
        bool weighted = false;
        for (std::size_t i = 1; i < words.size(); ++i) {
            const bool weight = words[i].starts_with(weight_word);
            check(weight ? !std::exchange(weighted, true) : key.name.empty(),
                  "a line has a key, perhaps a name and perhaps weight=NUMBER, separated by spaces");
            if (!weight) {
                key.name = words[i];
                continue;
            }
            key.weight = number_of(words[i].substr(weight_word.size()));
            check(key.weight >= least_weight && key.weight <= most_weight,
                  "weight= needs a number from 0.001 to 1000");
        }
        check(std::ranges::find(keys, key.key, &ApiKey::key) == keys.end(), "the key is there twice");
        keys.push_back(std::move(key));
    }
    if (keys.empty()) throw JobError(fmt::format("{} has no key: write one a line", path));
    return keys;
}

ApiKeys ApiKeys::from_file(const std::string& path) {
    return ApiKeys(read_api_keys(path));
}

ApiKeys::Digest ApiKeys::digest(std::string_view key) {
    Digest digest;
    SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
    return digest;
}

std::optional<std::size_t> ApiKeys::find(std::string_view key) const {
    const Digest wanted = digest(key);
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < entries_.size(); ++i)
        if (CRYPTO_memcmp(entries_[i].digest.data(), wanted.data(), wanted.size()) == 0) found = i;
    return found;
}

std::string_view bearer_key(std::string_view authorization) {
    constexpr std::string_view scheme = "Bearer ";
    if (authorization.size() <= scheme.size()) return {};
    if (!same_ignoring_case(authorization.substr(0, scheme.size()), scheme)) return {};
    authorization.remove_prefix(scheme.size());
    while (authorization.starts_with(' ')) authorization.remove_prefix(1);
    return authorization;
}

}  // namespace voltpile::http
