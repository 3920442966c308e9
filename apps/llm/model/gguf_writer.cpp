#include "llm/model/gguf_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/error.h"
#include "llm/model/gguf_value.h"

namespace voltpile::llm {
namespace {

constexpr std::uint32_t kVersion = 3;
constexpr std::size_t kAlignment = 32;  // the default of the format
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

// A temporary file, which the destructor removes unless it was published. Overwrites what a killed process
// left. A lock keeps other processes from writing it at the same time.
class TemporaryFile {
  public:
    // bytes: the final size. Throws FileError at once if there is no room for them.
    TemporaryFile(std::string path, std::size_t bytes)
        : path_(std::move(path)), temporary_(path_ + ".unfinished") {
        do {
            if (descriptor_ >= 0) ::close(descriptor_);
            descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
            if (descriptor_ < 0) throw FileError("create", temporary_, errno);
            // File systems without locks do not protect against a second writer.
            if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
                ::close(descriptor_);
                throw MachineError("another process is writing " + temporary_);
            }
        } while (!has_its_name());  // published by another process in the meantime
        if (::ftruncate(descriptor_, 0) != 0) abandon("write", errno);
        struct statvfs room {};
        if (::fstatvfs(descriptor_, &room) == 0 && room.f_bavail * room.f_frsize < bytes)
            abandon("write", ENOSPC);
    }
    ~TemporaryFile() { remove(); }
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
    bool has_its_name() const {
        struct stat mine {
        }, named{};
        return ::fstat(descriptor_, &mine) == 0 && ::stat(temporary_.c_str(), &named) == 0 &&
               mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
    }

    void remove() {
        if (descriptor_ < 0) return;
        ::unlink(temporary_.c_str());  // while the lock is still held
        ::close(std::exchange(descriptor_, -1));
    }

    [[noreturn]] void abandon(const char* action, int error) {
        remove();
        throw FileError(action, path_, error);
    }

    std::string path_;
    std::string temporary_;
    int descriptor_ = -1;
};

std::size_t data_bytes(std::span<const ModelTensor> tensors) {
    std::size_t bytes = 0;
    for (const ModelTensor& tensor : tensors) bytes += aligned(tensor.bytes());
    return bytes;
}

std::string tensor_entries(std::span<const ModelTensor> tensors) {
    std::string table;
    std::size_t offset = 0;
    for (const ModelTensor& tensor : tensors) {
        append_text(table, tensor.name);
        append(table, std::uint32_t{tensor.rows == 1 ? 1u : tensor.matrices == 1 ? 2u : 3u});
        append(table, std::uint64_t{tensor.columns});
        if (tensor.rows != 1) append(table, std::uint64_t{tensor.rows / tensor.matrices});
        if (tensor.matrices != 1) append(table, std::uint64_t{tensor.matrices});
        append(table, info(tensor.format).gguf_type.value());
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

void GgufWriter::add(const GgufEntry& entry) {
    metadata_.append(reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size());
    ++entries_;
}

std::string GgufWriter::header(std::span<const ModelTensor> tensors) const {
    std::string header = "GGUF";
    append(header, kVersion);
    append(header, std::uint64_t{tensors.size()});
    append(header, entries_);
    header += metadata_;
    header += tensor_entries(tensors);
    header.resize(aligned(header.size()));
    return header;
}

void GgufWriter::write(const std::string& path, std::span<const ModelTensor> tensors,
                       const RowSource& rows) const {
    const std::string header = this->header(tensors);
    TemporaryFile file(path, header.size() + data_bytes(tensors));
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
