// The keys that clients may present, compared in a time that says nothing about them.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile::http {

struct ApiKey {
    std::string key;
    std::string name{};  // for logs; empty: none
    double weight = 1;   // its share of the server, beside the others'
};

class ApiKeys {
  public:
    ApiKeys() = default;
    explicit ApiKeys(const std::vector<ApiKey>& keys);

    // Throws as read_api_keys() does.
    static ApiKeys from_file(const std::string& path);

    bool empty() const { return entries_.empty(); }
    std::size_t size() const { return entries_.size(); }

    // Returns the number of the key, in the order of the file. Compares digests with all keys, so that the
    // time it takes depends on the length of `key` alone.
    std::optional<std::size_t> find(std::string_view key) const;

    // Returns the name of a key, or "key 2" for the second one.
    std::string name(std::size_t number) const;
    double weight(std::size_t number) const { return entries_[number].weight; }

  private:
    using Digest = std::array<unsigned char, 32>;  // SHA-256
    static Digest digest(std::string_view key);
    struct Entry {
        Digest digest;
        std::string name;
        double weight;
    };

    std::vector<Entry> entries_;
};

// Reads a file with a key in each line, perhaps with a name and a weight after it: "KEY lab weight=2". Empty
// lines and those that begin with "#" do not count. Returns at least one. Throws FileError if the file cannot
// be read, JobError if it has no key, the same key twice, one that a header cannot carry, or something else.
std::vector<ApiKey> read_api_keys(const std::string& path);

// Returns the key in the value of an Authorization header ("Bearer KEY"); empty if there is none.
std::string_view bearer_key(std::string_view authorization);

}  // namespace voltpile::http
