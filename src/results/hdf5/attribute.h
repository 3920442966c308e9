// Reads and writes attributes of HDF5 objects. Texts are variable-length UTF-8, which h5py and xarray read as
// str. All functions throw FileError; the caller holds an Hdf5Guard.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/hdf5/handle.h"

namespace voltpile {

void write_text(hid_t object, const std::string& name, const std::string& value);
void write_texts(hid_t object, const std::string& name, const std::vector<std::string>& values);
void write_integer(hid_t object, const std::string& name, std::int64_t value);
void write_integers(hid_t object, const std::string& name, const std::vector<int>& values);
void write_unsigned_integers(hid_t object, const std::string& name, const std::vector<std::uint32_t>& values);
void write_flag(hid_t object, const std::string& name, bool value);  // int 0 or 1; replaces an existing one
void write_real(hid_t object, const std::string& name, double value);

// Of fixed length: stored inside the object's header, so its checksum covers it.
void write_fixed_text(hid_t object, const std::string& name, const std::string& value);

bool has_attribute(hid_t object, const std::string& name);  // throws if it cannot know
std::string read_text(hid_t object, const std::string& name);
std::vector<std::string> read_texts(hid_t object, const std::string& name);
std::int64_t read_integer(hid_t object, const std::string& name);
std::vector<std::uint32_t> read_unsigned_integers(hid_t object, const std::string& name);
double read_real(hid_t object, const std::string& name);

// Returns the type of a text of any length, and the texts of a dataset.
Hdf5Type text_type();
std::vector<std::string> read_text_dataset(hid_t dataset);

}  // namespace voltpile
