// Small model files assembled byte by byte, for the tests of their readers.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

namespace voltpile::llm::test_files {

inline std::span<const std::byte> bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// A temporary folder of this process, removed by the destructor.
class TestFolder {
  public:
    explicit TestFolder(std::string_view name)
        : path_(std::filesystem::temp_directory_path() /
                ("voltpile_" + std::string(name) + "_" + std::to_string(::getpid()))) {
        std::filesystem::remove_all(path_);
        std::filesystem::create_directories(path_);
    }
    ~TestFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TestFolder(const TestFolder&) = delete;
    TestFolder& operator=(const TestFolder&) = delete;

    std::string path() const { return path_; }
    std::string operator/(std::string_view file) const { return path_ / file; }
    std::string write(std::string_view file, std::string_view text) const {
        std::ofstream(path_ / file, std::ios::binary) << text;
        return path_ / file;
    }

  private:
    std::filesystem::path path_;
};

// The parts of a GGUF file, from the definition of the format and without the writer under test.
class GgufBytes {
  public:
    template <class T>
    GgufBytes& number(T value) {
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
        return *this;
    }
    GgufBytes& raw(std::string_view text) {
        bytes_ += text;
        return *this;
    }
    GgufBytes& text(std::string_view text) { return number<std::uint64_t>(text.size()).raw(text); }
    GgufBytes& begin(std::uint64_t tensors, std::uint64_t entries, std::uint32_t version = 3) {
        return raw("GGUF").number(version).number(tensors).number(entries);
    }
    GgufBytes& key(std::string_view name, std::uint32_t type) { return text(name).number(type); }
    GgufBytes& tensor(std::string_view name, std::initializer_list<std::uint64_t> dimensions,
                      std::uint32_t type, std::uint64_t offset) {
        text(name).number(static_cast<std::uint32_t>(dimensions.size()));
        for (const std::uint64_t extent : dimensions) number(extent);
        return number(type).number(offset);
    }
    GgufBytes& pad(std::size_t alignment = 32) {
        bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
        return *this;
    }
    GgufBytes& zeros(std::size_t count) {
        bytes_.append(count, '\0');
        return *this;
    }
    const std::string& str() const { return bytes_; }

  private:
    std::string bytes_;
};

// Returns "" if `message` contains `part` and the message otherwise, for EXPECT_EQ(missing(part, message),
// "").
inline std::string missing(std::string_view part, const std::string& message) {
    return message.find(part) != std::string::npos ? "" : message;
}

// Returns a safetensors file: header length, header and data.
inline std::string safetensors(std::string_view header, std::size_t data_bytes) {
    return GgufBytes().text(header).zeros(data_bytes).str();
}

}  // namespace voltpile::llm::test_files
