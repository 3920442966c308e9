// Owned HDF5 handles, errors as FileError, and the lock that every caller holds. Private to src/results: only
// its .cpp files include this header, directly or through others that name hid_t.
#pragma once

#include <hdf5.h>

#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace voltpile {

// Locks HDF5, which is not thread-safe in the serial builds of distributions. Hold one for as long as you
// call HDF5 or own a handle; declare it before the handles. Guards may be nested. Also turns off HDF5's own
// printing of errors.
class Hdf5Guard {
  public:
    Hdf5Guard();

  private:
    std::unique_lock<std::recursive_mutex> lock_;
};

// Makes "cannot <action> <path>: <cause>" from HDF5's error stack: the text of errno if a system call failed,
// else the innermost message. Call it right after the call that failed.
FileError hdf5_error(std::string_view action, std::string_view path);

// Does the same for a call on an open object, whose file gives the path.
FileError hdf5_error_at(std::string_view action, hid_t object);

// Returns what an HDF5 call returned; throws hdf5_error if that is negative.
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

    // Closes a file that was written: closing flushes, which can fail.
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

// Opens a file for reading, without HDF5's file locks: results never change, and NFS or Lustre may not
// support locks.
Hdf5File open_hdf5(const std::string& path);

// Creates or truncates a file for writing, in a format that HDF5 1.8 and newer read, without file locks.
Hdf5File create_hdf5(const std::string& path);

// Opens a file that has just been copied, to add to it; otherwise like create_hdf5.
Hdf5File extend_hdf5(const std::string& path);

Hdf5Dataset open_dataset(hid_t file, const std::string& name);

}  // namespace voltpile
