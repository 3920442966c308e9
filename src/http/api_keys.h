// The keys that clients may present, compared in a time that says nothing about them.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile::http {

class ApiKeys {
  public:
    ApiKeys() = default;
    explicit ApiKeys(const std::vector<std::string>& keys);

    // Throws as read_api_keys() does.
    static ApiKeys from_file(const std::string& path);

    bool empty() const { return digests_.empty(); }
    std::size_t size() const { return digests_.size(); }

    // Returns the number of the key, in the order of the file. Compares digests with all keys, so that the
    // time it takes depends on the length of `key` alone.
    std::optional<std::size_t> find(std::string_view key) const;

  private:
    using Digest = std::array<unsigned char, 32>;  // SHA-256
    static Digest digest(std::string_view key);

    std::vector<Digest> digests_;
};

// Reads a file with one key a line; empty lines and those that begin with "#" do not count. Returns at least
// one. Throws FileError if the file cannot be read, JobError if it has no key or one that a header cannot
// carry.
std::vector<std::string> read_api_keys(const std::string& path);

// Returns the key in the value of an Authorization header ("Bearer KEY"); empty if there is none.
std::string_view bearer_key(std::string_view authorization);

}  // namespace voltpile::http
