#include "llm/model/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.h"

namespace voltpile::llm {

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
    // Without O_NONBLOCK, opening a named pipe would wait for a writer.
    const int descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) throw FileError("open", path_, errno, ExitCode::BadInput);
    struct stat status {};
    void* address = nullptr;
    int error = 0;
    if (::fstat(descriptor, &status) != 0) {
        error = errno;
    } else if (S_ISREG(status.st_mode) && status.st_size > 0) {
        size_ = static_cast<std::size_t>(status.st_size);
        address = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor, 0);
        if (address == MAP_FAILED) error = errno;
    }
    ::close(descriptor);
    if (error != 0) throw FileError("map", path_, error);
    if (!S_ISREG(status.st_mode)) throw FileError(path_ + " is not a regular file", ExitCode::BadInput);
    data_ = static_cast<const std::byte*>(address);
    if (size_ > 0) range_.emplace(data_, size_, path_);
}

MappedFile::~MappedFile() {
    range_.reset();
    if (size_ > 0) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace voltpile::llm
