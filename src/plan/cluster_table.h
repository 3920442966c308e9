// Reads one table of a machine description. Every error is a JobError `file:line: message`.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

#include "plan/device_tree.h"

namespace voltpile {

class ClusterTable {
  public:
    // table: must outlive this object.
    ClusterTable(const toml::table& table, std::string path) : table_(table), path_(std::move(path)) {}

    // Throws for a key that is not among `known`, and suggests the nearest one.
    void allow(std::initializer_list<std::string_view> known) const;

    bool has(std::string_view key) const { return table_.contains(key); }
    // Any string.
    std::string text(std::string_view key) const;
    // A string that can stand in a line of output, see is_one_line(): not blank, of at most 1,000 bytes.
    std::string phrase(std::string_view key) const;
    // The name of a host or a device: a phrase of at most 100 bytes without slashes.
    std::string name(std::string_view key) const;
    // A number from `least` to `most`, or greater than 0 if `least` is 0.
    double number(std::string_view key, double least, double most) const;
    double number_or(std::string_view key, double least, double most, double otherwise) const {
        return has(key) ? number(key, least, most) : otherwise;
    }
    bool flag_or(std::string_view key, bool otherwise) const;
    // An integer from `least` to `most`.
    int integer(std::string_view key, int least, int most) const;
    int integer_or(std::string_view key, int least, int most, int otherwise) const {
        return has(key) ? integer(key, least, most) : otherwise;
    }
    // "memory_gb", in bytes.
    std::int64_t memory_bytes() const;
    // "3.0 x16"; unknown if the key is missing.
    PcieLink pcie(std::string_view key) const;
    // A phrase or an array of phrases; empty if the key is missing.
    std::vector<std::string> texts(std::string_view key) const;
    // An array of integers from 0 to `most`.
    std::vector<int> integers(std::string_view key, int most) const;
    std::vector<ClusterTable> tables(std::string_view key) const;

    const std::string& path() const { return path_; }

    // Throws for the value of a key, or for the whole table if it lacks the key.
    [[noreturn]] void fail(std::string_view key, const std::string& message) const;

  private:
    const toml::node& node(std::string_view key) const;
    std::string phrase_at(const toml::node& node, std::string_view key, std::size_t most_bytes) const;
    std::int64_t integer_at(const toml::node& node, std::string_view key) const;
    [[noreturn]] void fail_at(const toml::node& node, const std::string& message) const;

    const toml::table& table_;
    std::string path_;
};

}  // namespace voltpile
