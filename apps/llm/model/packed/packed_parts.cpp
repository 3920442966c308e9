#include "llm/model/packed/packed_parts.h"

#include <fmt/format.h>

#include "base/error.h"
#include "llm/model/byte_cursor.h"

namespace voltpile::llm {

const StoredTensor* PackedParts::find(std::string_view suffix) const {
    const auto found = files_.tensors.find(fmt::format("{}.{}", layer_, suffix));
    return found == files_.tensors.end() ? nullptr : &found->second;
}

const StoredTensor& PackedParts::need(std::string_view suffix, StoredType element) const {
    const StoredTensor* tensor = find(suffix);
    if (tensor == nullptr)
        throw FileError(
            fmt::format("{} needs {}.{}, which is missing", place(main_), printable(layer_), suffix),
            ExitCode::BadInput);
    if (tensor->element != element) fail(suffix, "has elements of another type than its method stores");
    return *tensor;
}

const StoredTensor& PackedParts::need(std::string_view suffix, StoredType element, std::uint64_t rows,
                                      std::uint64_t columns) const {
    const StoredTensor& tensor = need(suffix, element);
    if (tensor.rows != rows || tensor.columns != columns)
        fail(suffix, fmt::format("is {} x {} where {} needs {} x {}", tensor.rows, tensor.columns, main_,
                                 rows, columns));
    return tensor;
}

PackedShape PackedParts::shape(std::uint64_t rows, std::uint64_t columns) const {
    return {place(main_), rows, columns};
}

void PackedParts::fail(std::string_view suffix, const std::string& message) const {
    throw FileError(fmt::format("{} {}", place(suffix), message), ExitCode::BadInput);
}

std::string PackedParts::place(std::string_view suffix) const {
    const std::string name = fmt::format("{}.{}", layer_, suffix);
    const auto file = files_.file_of.find(name);
    const std::string path = file == files_.file_of.end()
                                 ? files_.folder
                                 : files_.files[static_cast<std::size_t>(file->second)]->path();
    return fmt::format("{}: tensor {}", path, printable(name));
}

}  // namespace voltpile::llm
