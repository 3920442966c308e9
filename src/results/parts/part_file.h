// One part: the values of a range of points, with checksums over every byte. Private to src/results. Of a
// variable field it has the values, one after the other, and beside them where each point's begin: what HDF5
// keeps of its own variable-length types has no checksums.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "results/hdf5/field_io.h"
#include "results/result_layout.h"

namespace voltpile {

// "part-000000001000-000000002000.h5": zero-padded, so that listings sort.
std::string part_name(WorkRange range);
std::optional<WorkRange> parse_part_name(const std::string& file_name);  // nothing: not the name of a part

// Of which job a part is; nothing if the file is no readable part.
std::optional<std::string> part_fingerprint(const std::filesystem::path& path);

// The whole file, built in memory. `path` only names it in errors.
std::vector<std::byte> part_image(const std::filesystem::path& path, const ResultLayout& layout,
                                  WorkRange range, const std::vector<FieldBuffer>& data);

class PartFile {
  public:
    // Opens a part and checks that it is one of this layout's, by its name, its attributes and the shapes of
    // its fields. Throws FileError, whose text says what is wrong.
    PartFile(const std::filesystem::path& path, const ResultLayout& layout);

    WorkRange range() const { return range_; }

    // Values of the layout's field number `field` over `range`, a piece of the part's; converted to `type`.
    // Throws FileError if they are not the bytes that were written.
    void read(std::size_t field, WorkRange range, hid_t type, void* data) const;

    // The same of a variable field: its FieldBuffer for the piece.
    FieldBuffer read_rows(std::size_t field, WorkRange range) const;

    // Reads every byte and compares the values with their checksum, if the part has one. Throws FileError.
    void verify() const;

    // Parts of versions before 0.2.0 have no checksum but HDF5's.
    bool has_checksum() const;

  private:
    Hdf5File file_;
    std::vector<FieldSpec> fields_;
    std::vector<Hdf5Dataset> datasets_;
    std::vector<Hdf5Dataset> offsets_;  // of variable fields
    WorkRange range_;
};

}  // namespace voltpile
