#include "http/api_keys.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "http/message.h"

namespace voltpile::http {

ApiKeys::ApiKeys(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) digests_.push_back(digest(key));
}

std::vector<std::string> read_api_keys(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw FileError("read", path, errno, ExitCode::BadInput);
    if (std::filesystem::is_directory(path)) throw FileError("read", path, EISDIR, ExitCode::BadInput);
    std::vector<std::string> keys;
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
        while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
        if (line.empty() || line.front() == '#') continue;
        const bool plain = std::ranges::all_of(line, [](unsigned char c) { return c > ' ' && c < 0x7f; });
        if (!plain)
            throw JobError(fmt::format("{}:{}: a key consists of visible ASCII characters without spaces",
                                       path, number));
        keys.push_back(line);
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
    for (std::size_t i = 0; i < digests_.size(); ++i)
        if (CRYPTO_memcmp(digests_[i].data(), wanted.data(), wanted.size()) == 0) found = i;
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
