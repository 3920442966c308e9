#include "results/hdf5/handle.h"

#include <spdlog/spdlog.h>

#include <charconv>

namespace voltpile {
namespace {

std::recursive_mutex& hdf5_mutex() {
    static std::recursive_mutex mutex;
    return mutex;
}

void initialize_hdf5() {
    // After a failed flush HDF5 keeps the file open, and flushing it once more at exit may crash.
    H5dont_atexit();
    H5open();
}

herr_t keep_innermost(unsigned depth, const H5E_error2_t* error, void* text) {
    if (depth == 0 && error->desc) *static_cast<std::string*>(text) = error->desc;
    return 0;
}

// Returns the innermost message of HDF5's error stack, or `fallback`, and clears the stack.
std::string innermost_error(std::string fallback) {
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &fallback);
    H5Eclear2(H5E_DEFAULT);
    // HDF5 1.14 no longer says which filter failed. Checksums are the only filter of our files.
    if (fallback == "filter returned failure during read") return "a block does not match its checksum";
    return fallback;
}

// HDF5's drivers write "errno = 28, error message = '...'" into their message.
int errno_of(std::string_view text) {
    constexpr std::string_view mark = "errno = ";
    int number = 0;
    auto at = text.find(mark);
    if (at != std::string_view::npos) {
        std::from_chars(text.data() + at + mark.size(), text.data() + text.size(), number);
    }
    return number;
}

Hdf5Properties access_without_locks() {
    Hdf5Properties access(hdf5_check(H5Pcreate(H5P_FILE_ACCESS), "set up HDF5 for", "a file"));
    hdf5_check(H5Pset_file_locking(access.get(), false, true), "set up HDF5 for", "a file");
    return access;
}

}  // namespace

Hdf5Guard::Hdf5Guard() : lock_(hdf5_mutex()) {
    static const bool initialized = (initialize_hdf5(), true);
    (void)initialized;
    // A thread-safe HDF5, such as Debian's, has an error stack for each thread, and prints each.
    thread_local const bool silent = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
    (void)silent;
}

FileError hdf5_error(std::string_view action, std::string_view path) {
    const std::string text = innermost_error("it is not as expected");
    if (int number = errno_of(text)) return FileError(action, path, number);
    return FileError("cannot " + std::string(action) + " " + std::string(path) + ": " + text + " (HDF5)");
}

FileError hdf5_error_at(std::string_view action, hid_t object) {
    FileError unnamed = hdf5_error(action, "");  // asking for the name would clear the stack
    char path[4096] = "a file";
    H5Fget_name(object, path, sizeof path);
    std::string message = unnamed.what();
    message.insert(std::string("cannot ").size() + action.size() + 1, path);
    return FileError(message);
}

void log_failed_close() {
    spdlog::debug("closing an HDF5 object failed: {}", innermost_error("unknown error"));
}

Hdf5File open_hdf5(const std::string& path) {
    Hdf5Properties access = access_without_locks();
    return Hdf5File(hdf5_check(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), "open", path));
}

Hdf5File create_hdf5(const std::string& path) {
    Hdf5Properties access = access_without_locks();
    hdf5_check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V18), "create", path);
    Hdf5Properties creation(hdf5_check(H5Pcreate(H5P_FILE_CREATE), "create", path));
    // Equal content gives equal bytes, at any time.
    hdf5_check(H5Pset_obj_track_times(creation.get(), false), "create", path);
    // netCDF needs the order of creation.
    constexpr unsigned order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
    hdf5_check(H5Pset_link_creation_order(creation.get(), order), "create", path);
    hdf5_check(H5Pset_attr_creation_order(creation.get(), order), "create", path);
    return Hdf5File(
        hdf5_check(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), "create", path));
}

Hdf5File extend_hdf5(const std::string& path) {
    Hdf5Properties access = access_without_locks();
    hdf5_check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V18), "open", path);
    return Hdf5File(hdf5_check(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.get()), "open", path));
}

Hdf5Dataset open_dataset(hid_t file, const std::string& name) {
    return Hdf5Dataset(
        hdf5_check_at(H5Dopen2(file, name.c_str(), H5P_DEFAULT), "read " + name + " of", file));
}

}  // namespace voltpile
