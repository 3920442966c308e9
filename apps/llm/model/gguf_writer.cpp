#include "llm/model/gguf_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>

#include "base/error.h"
#include "llm/model/gguf_value.h"

namespace voltpile::llm {
namespace {

constexpr std::uint32_t kVersion = 3;
constexpr std::size_t kAlignment = 32;  // the format's default
constexpr std::size_t kChunkBytes = 8 << 20;

static_assert(std::endian::native == std::endian::little);

template <class T>
void append(std::string& bytes, T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_text(std::string& bytes, std::string_view text) {
    append(bytes, std::uint64_t{text.size()});
    bytes += text;
}

std::size_t aligned(std::size_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// A file under a temporary name, which is removed unless it is published.
class TemporaryFile {
  public:
    explicit TemporaryFile(std::string path) : path_(std::move(path)), temporary_(path_ + ".unfinished") {
        descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (descriptor_ < 0) throw FileError("create", temporary_, errno);
    }
    ~TemporaryFile() {
        if (descriptor_ < 0) return;
        ::close(descriptor_);
        ::unlink(temporary_.c_str());
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    void write(const char* data, std::size_t bytes) {
        while (bytes > 0) {
            const ssize_t written = ::write(descriptor_, data, bytes);
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) throw FileError("write", temporary_, errno);
            data += written;
            bytes -= static_cast<std::size_t>(written);
        }
    }

    void publish() {
        if (::fsync(descriptor_) != 0) throw FileError("write", temporary_, errno);
        if (std::rename(temporary_.c_str(), path_.c_str()) != 0) throw FileError("rename to", path_, errno);
        ::close(descriptor_);
        descriptor_ = -1;
    }

  private:
    std::string path_;
    std::string temporary_;
    int descriptor_ = -1;
};

std::string tensor_entries(std::span<const ModelTensor> tensors) {
    std::string table;
    std::size_t offset = 0;
    for (const ModelTensor& tensor : tensors) {
        append_text(table, tensor.name);
        append(table, std::uint32_t{tensor.rows == 1 ? 1u : 2u});
        append(table, std::uint64_t{tensor.columns});
        if (tensor.rows != 1) append(table, std::uint64_t{tensor.rows});
        append(table, info(tensor.format).gguf_type);
        append(table, std::uint64_t{offset});
        offset += aligned(tensor.bytes());
    }
    return table;
}

}  // namespace

void GgufWriter::begin_entry(std::string_view key, std::uint32_t type) {
    append_text(metadata_, key);
    append(metadata_, type);
    ++entries_;
}

void GgufWriter::begin_array(std::string_view key, std::uint32_t element_type, std::size_t count) {
    begin_entry(key, static_cast<std::uint32_t>(GgufType::Array));
    append(metadata_, element_type);
    append(metadata_, std::uint64_t{count});
}

void GgufWriter::add(std::string_view key, std::uint32_t value) {
    begin_entry(key, static_cast<std::uint32_t>(GgufType::Uint32));
    append(metadata_, value);
}

void GgufWriter::add(std::string_view key, float value) {
    begin_entry(key, static_cast<std::uint32_t>(GgufType::Float32));
    append(metadata_, value);
}

void GgufWriter::add(std::string_view key, bool value) {
    begin_entry(key, static_cast<std::uint32_t>(GgufType::Bool));
    append(metadata_, static_cast<std::uint8_t>(value));
}

void GgufWriter::add(std::string_view key, std::string_view value) {
    begin_entry(key, static_cast<std::uint32_t>(GgufType::String));
    append_text(metadata_, value);
}

void GgufWriter::add(std::string_view key, std::span<const std::string> values) {
    begin_array(key, static_cast<std::uint32_t>(GgufType::String), values.size());
    for (const auto& value : values) append_text(metadata_, value);
}

void GgufWriter::add(std::string_view key, std::span<const float> values) {
    begin_array(key, static_cast<std::uint32_t>(GgufType::Float32), values.size());
    for (const float value : values) append(metadata_, value);
}

void GgufWriter::add(std::string_view key, std::span<const std::int32_t> values) {
    begin_array(key, static_cast<std::uint32_t>(GgufType::Int32), values.size());
    for (const std::int32_t value : values) append(metadata_, value);
}

void GgufWriter::write(const std::string& path, std::span<const ModelTensor> tensors,
                       const RowSource& rows) const {
    std::string header = "GGUF";
    append(header, kVersion);
    append(header, std::uint64_t{tensors.size()});
    append(header, entries_);
    header += metadata_;
    header += tensor_entries(tensors);
    header.resize(aligned(header.size()));
    TemporaryFile file(path);
    file.write(header.data(), header.size());
    std::vector<char> chunk;
    for (const ModelTensor& tensor : tensors) {
        const std::size_t bytes_per_row = row_bytes(tensor.format, tensor.columns);
        const std::size_t step = std::max<std::size_t>(1, kChunkBytes / bytes_per_row);
        for (std::size_t row = 0; row < tensor.rows; row += step) {
            const std::size_t end = std::min(tensor.rows, row + step);
            chunk.resize((end - row) * bytes_per_row);
            rows(tensor, row, end, reinterpret_cast<std::byte*>(chunk.data()));
            file.write(chunk.data(), chunk.size());
        }
        const std::string padding(aligned(tensor.bytes()) - tensor.bytes(), '\0');
        file.write(padding.data(), padding.size());
    }
    file.publish();
}

}  // namespace voltpile::llm
