// Reads and writes one part: the values of a range of points, with checksums. A variable field has two
// datasets, its values and the offset of each point's values, because HDF5 keeps no checksums of its own
// variable-length types. Private to src/results.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "results/hdf5/field_io.h"
#include "results/result_layout.h"

namespace voltpile {

// Returns "part-000000001000-000000002000.h5", padded so that listings sort; and the range of such a name,
// nothing for other names.
std::string part_name(WorkRange range);
std::optional<WorkRange> parse_part_name(const std::string& file_name);

// Returns the fingerprint of a part's job; nothing if the file is not a readable part.
std::optional<std::string> part_fingerprint(const std::filesystem::path& path);

// Builds the whole file in memory. `path` is for errors only.
std::vector<std::byte> part_image(const std::filesystem::path& path, const ResultLayout& layout,
                                  WorkRange range, const std::vector<FieldBuffer>& data);

class PartFile {
  public:
    // Opens a part and checks by its name, its attributes and the shapes of its fields that it belongs to
    // this layout. Throws FileError, which says what is wrong.
    PartFile(const std::filesystem::path& path, const ResultLayout& layout);

    WorkRange range() const { return range_; }

    // Reads the values of the layout's field number `field` over `range`, which lies within the part,
    // converted to `type`. Throws FileError if HDF5's checksums do not match.
    void read(std::size_t field, WorkRange range, hid_t type, void* data) const;

    // Reads the FieldBuffer of a variable field.
    FieldBuffer read_rows(std::size_t field, WorkRange range) const;

    // Reads every byte and compares the values with their checksum, if the part has one. Throws FileError.
    void verify() const;

    // Parts of versions before 0.2.0 have HDF5's checksums only.
    bool has_checksum() const;

  private:
    Hdf5File file_;
    std::vector<FieldSpec> fields_;
    std::vector<Hdf5Dataset> datasets_;
    std::vector<Hdf5Dataset> offsets_;  // of variable fields
    WorkRange range_;
};

}  // namespace voltpile
