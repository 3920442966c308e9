#include <fstream>

#include "results/parts/durable_file.h"
#include "results/parts/part_file.h"
#include "results/parts/part_folder.h"
#include "results/parts/part_listing.h"

namespace voltpile {

void commit_part(const Life& life, const ResultLayout& layout, WorkRange range,
                 const std::vector<FieldBuffer>& data) {
    const std::filesystem::path path = life.parts / part_name(range);
    const std::vector<std::byte> image = part_image(path, layout, range, data);
    try {
        write_in(life, path, image);
    } catch (const FileError&) {
        withdraw_in(life, path);  // it may have got its name but not the folder's fsync
        throw;
    }
}

std::vector<std::byte> read_part(const std::filesystem::path& parts, WorkRange range) {
    const std::filesystem::path path = parts / part_name(range);
    std::ifstream file(path, std::ios::binary);
    std::error_code error;
    std::vector<std::byte> bytes(std::filesystem::file_size(path, error));
    if (error) throw FileError("read", path.string(), error.value());
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!file) throw FileError("read", path.string(), EIO);
    return bytes;
}

void put_part(const Life& life, WorkRange range, std::span<const std::byte> bytes) {
    write_in(life, life.parts / part_name(range), bytes, Flush::Later);
}

RangeSet named_parts(const std::filesystem::path& parts) {
    RangeSet named;
    for (const std::filesystem::path& path : list_folder(parts))
        if (const auto range = parse_part_name(path.filename().string())) named.insert(*range);
    return named;
}

}  // namespace voltpile
