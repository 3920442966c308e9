#include "results/hdf5/image.h"

#include <cstring>

namespace voltpile {
namespace {

// HDF5's "core" driver keeps a file in memory that these callbacks provide. H5Fget_file_image would be
// simpler, but it copies the file as it is while open, with the mark that says so cleared and the checksum
// over that mark not updated.

using Bytes = std::vector<std::byte>;

void* resize(Bytes& bytes, std::size_t size) noexcept {
    try {
        bytes.resize(size);
        return bytes.data();
    } catch (const std::exception&) {
        return nullptr;
    }
}

void* allocate(std::size_t size, H5FD_file_image_op_t, void* bytes) {
    return resize(*static_cast<Bytes*>(bytes), size);
}

void* reallocate(void*, std::size_t size, H5FD_file_image_op_t, void* bytes) {
    return resize(*static_cast<Bytes*>(bytes), size);
}

void* copy(void* to, const void* from, std::size_t size, H5FD_file_image_op_t, void*) {
    return std::memcpy(to, from, size);
}

herr_t keep(void*, H5FD_file_image_op_t, void*) {
    return 0;
}  // the bytes are ours

void* same_bytes(void* bytes) {
    return bytes;
}

herr_t keep_bytes(void*) {
    return 0;
}

}  // namespace

Hdf5Image::Hdf5Image(const std::string& path, std::size_t expected_bytes)
    : path_(path), bytes_(std::make_unique<Bytes>()) {
    bytes_->reserve(expected_bytes + (16 << 10));
    Hdf5Properties access(hdf5_check(H5Pcreate(H5P_FILE_ACCESS), "create", path));
    hdf5_check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110), "create", path);
    // Grow byte by byte, so that the file has no slack at its end; the vector makes that cheap.
    hdf5_check(H5Pset_fapl_core(access.get(), 1, false), "create", path);
    H5FD_file_image_callbacks_t callbacks{allocate,   copy,       reallocate,  keep,
                                          same_bytes, keep_bytes, bytes_.get()};
    hdf5_check(H5Pset_file_image_callbacks(access.get(), &callbacks), "create", path);
    Hdf5Properties creation(hdf5_check(H5Pcreate(H5P_FILE_CREATE), "create", path));
    // Equal content gives equal bytes, at any time.
    hdf5_check(H5Pset_obj_track_times(creation.get(), false), "create", path);
    file_ = Hdf5File(
        hdf5_check(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), "create", path));
}

std::vector<std::byte> Hdf5Image::finish() {
    file_.close(path_);
    return std::move(*bytes_);
}

}  // namespace voltpile
