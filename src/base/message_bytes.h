// Packs values into a string of bytes for messages between ranks. All ranks run the same program on the same
// kind of machine, so plain bytes suffice.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"

namespace voltpile {

class MessageWriter {
  public:
    template <class T>
    void value(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    template <class T>
    void list(const std::vector<T>& list) {
        static_assert(std::is_trivially_copyable_v<T>);
        value(list.size());
        bytes_.append(reinterpret_cast<const char*>(list.data()), list.size() * sizeof(T));
    }
    template <class Key, class Value>
    void map(const std::map<Key, Value>& map) {
        value(map.size());
        for (const auto& [key, each] : map) {
            value(key);
            value(each);
        }
    }
    void text(const std::string& text) {
        value(text.size());
        bytes_ += text;
    }
    std::string take() { return std::move(bytes_); }

  private:
    std::string bytes_;
};

class MessageReader {
  public:
    // what: names the message in errors ("a scheduler message"). `bytes` must outlive it. Reading past the
    // end throws CommError.
    MessageReader(const std::string& bytes, const char* what) : bytes_(bytes), what_(what) {}

    template <class T>
    T value() {
        static_assert(std::is_trivially_copyable_v<T>);
        T out;
        std::memcpy(&out, take(sizeof out), sizeof out);
        return out;
    }
    template <class T>
    std::vector<T> list() {
        static_assert(std::is_trivially_copyable_v<T>);
        std::vector<T> out(count(sizeof(T)));
        if (!out.empty()) std::memcpy(out.data(), take(out.size() * sizeof(T)), out.size() * sizeof(T));
        return out;
    }
    template <class Key, class Value>
    std::map<Key, Value> map() {
        const std::size_t size = count(sizeof(Key) + sizeof(Value));
        std::map<Key, Value> out;
        for (std::size_t i = 0; i < size; ++i) {
            const auto key = value<Key>();
            out.emplace(key, value<Value>());
        }
        return out;
    }
    std::string text() {
        const std::size_t size = count(1);
        return {take(size), size};
    }
    // Reads the number of values that follow, each of at least that many bytes.
    std::size_t count(std::size_t bytes_each) {
        const auto count = value<std::size_t>();
        if (count > (bytes_.size() - at_) / bytes_each) refuse();
        return count;
    }
    // Throws CommError if bytes are left.
    void end() const {
        if (at_ != bytes_.size()) refuse();
    }

  private:
    [[noreturn]] void refuse() const {
        throw CommError(std::string(what_) + " has the wrong length: do all ranks run the same program?");
    }
    const char* take(std::size_t bytes) {
        if (bytes > bytes_.size() - at_) refuse();
        const char* const from = bytes_.data() + at_;
        at_ += bytes;
        return from;
    }

    const std::string& bytes_;
    const char* what_;
    std::size_t at_ = 0;
};

}  // namespace voltpile
