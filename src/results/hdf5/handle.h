// The library's only door to HDF5: owned handles, errors as FileError, and the lock that every caller needs.
// Private to src/results: only its .cpp files include this, directly or through the other headers that name
// hid_t.
#pragma once

#include <hdf5.h>

#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace voltpile {

// The distributions' serial HDF5 is not thread-safe: whoever calls it or owns a handle holds one of these for
// as long. Declare it before the handles. May be nested. Silences HDF5's own printing of errors.
class Hdf5Guard {
  public:
    Hdf5Guard();

  private:
    std::unique_lock<std::recursive_mutex> lock_;
};

// "cannot <action> <path>: <cause>" from HDF5's error stack: errno's text if a system call failed, else the
// innermost message. Call it right after the call that failed.
FileError hdf5_error(std::string_view action, std::string_view path);

// The same for a call on an open object, whose file names the path.
FileError hdf5_error_at(std::string_view action, hid_t object);

// Passes on what an HDF5 call returned; throws hdf5_error if that is negative.
template <class T>
T hdf5_check(T returned, std::string_view action, std::string_view path) {
    if (returned < 0) throw hdf5_error(action, path);
    return returned;
}

template <class T>
T hdf5_check_at(T returned, std::string_view action, hid_t object) {
    if (returned < 0) throw hdf5_error_at(action, object);
    return returned;
}

void log_failed_close();

template <herr_t (*close_id)(hid_t)>
class Hdf5Handle {
  public:
    Hdf5Handle() = default;
    explicit Hdf5Handle(hid_t id) : id_(id) {}
    Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
    Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
        std::swap(id_, other.id_);
        return *this;
    }
    ~Hdf5Handle() {
        if (id_ >= 0 && close_id(id_) < 0) log_failed_close();
    }

    hid_t get() const { return id_; }

    // For files that were written: closing flushes, which can fail.
    void close(std::string_view path) {
        hdf5_check(close_id(std::exchange(id_, H5I_INVALID_HID)), "write", path);
    }

  private:
    hid_t id_ = H5I_INVALID_HID;
};

using Hdf5File = Hdf5Handle<H5Fclose>;
using Hdf5Dataset = Hdf5Handle<H5Dclose>;
using Hdf5Space = Hdf5Handle<H5Sclose>;
using Hdf5Type = Hdf5Handle<H5Tclose>;
using Hdf5Attribute = Hdf5Handle<H5Aclose>;
using Hdf5Properties = Hdf5Handle<H5Pclose>;

// Opens for reading, without HDF5's file locks: results are immutable and NFS or Lustre may refuse locks.
Hdf5File open_hdf5(const std::string& path);

// Creates (or truncates) for writing, readable by HDF5 1.8 and newer, without file locks.
Hdf5File create_hdf5(const std::string& path);

Hdf5Dataset open_dataset(hid_t file, const std::string& name);

}  // namespace voltpile
