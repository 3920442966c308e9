#include "llm/model/gguf_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "base/error.h"
#include "llm/model/byte_cursor.h"

namespace voltpile::llm {
namespace {

constexpr std::uint32_t kMaxDimensions = 4;
constexpr std::uint64_t kDefaultAlignment = 32;
constexpr std::uint64_t kMaxAlignment = 1 << 20;
constexpr std::size_t kMaxNameBytes = 1 << 16;
// Lengths of the shortest entries, which bound the counts by the size of the file.
constexpr std::size_t kLeastTextBytes = 8;
constexpr std::size_t kLeastPairBytes = 8 + 4 + 1;
constexpr std::size_t kLeastTensorBytes = 8 + 4 + 8 + 4 + 8;

// The names of ggml's types by number, for messages about unsupported ones; "" for retired numbers.
constexpr std::array<std::string_view, 40> kGgmlTypes = {
    "F32",    "F16",   "Q4_0",  "Q4_1",   "",      "",      "Q5_0",    "Q5_1",   "Q8_0",    "Q8_1",
    "Q2_K",   "Q3_K",  "Q4_K",  "Q5_K",   "Q6_K",  "Q8_K",  "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S",
    "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8",    "I16",   "I32",     "I64",    "F64",     "IQ1_M",
    "BF16",   "",      "",      "",       "TQ1_0", "TQ2_0", "",        "",       "",        "MXFP4"};

std::string ggml_type_text(std::uint32_t type) {
    if (type < kGgmlTypes.size() && !kGgmlTypes[type].empty()) return std::string(kGgmlTypes[type]);
    return fmt::format("of unknown type {}", type);
}

std::string supported_formats() {
    std::string text;
    for (const auto& entry : kWeightFormats)
        if (entry.gguf_type) text += fmt::format("{}{}", text.empty() ? "" : ", ", entry.name);
    return text;
}

GgufType checked_type(const ByteCursor& cursor, std::uint32_t type, std::string_view key) {
    if (type >= kGgufTypeCount)
        cursor.fail(fmt::format("{} has a value of unknown type {}", printable(key), type));
    return static_cast<GgufType>(type);
}

std::uint64_t read_version(ByteCursor& cursor) {
    const auto magic = cursor.take(4, 1, "the mark GGUF");
    if (std::string_view(reinterpret_cast<const char*>(magic.data()), 4) != "GGUF")
        cursor.fail("this is not a GGUF file: it does not begin with GGUF");
    const auto version = cursor.number<std::uint32_t>("the version");
    if (version == 0x02000000 || version == 0x03000000)
        cursor.fail("this GGUF file is big-endian, which is not supported");
    if (version != 2 && version != 3)
        cursor.fail(fmt::format("GGUF version {} is not supported (versions 2 and 3 are)", version));
    return version;
}

std::uint64_t read_count(ByteCursor& cursor, std::string_view what, std::size_t least_bytes) {
    const auto count = cursor.number<std::uint64_t>(what);
    if (count > cursor.remaining() / least_bytes)
        cursor.fail(fmt::format("{} is {}, more than the file has room for", what, count));
    return count;
}

// Computes rows and columns from ggml's dimensions, innermost first. Returns false if there are too many
// weights.
bool set_shape(StoredTensor& tensor, std::span<const std::uint64_t> dimensions) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40;  // weights a tensor; keeps all products in range
    tensor.dimensions = static_cast<int>(dimensions.size());
    tensor.columns = dimensions[0];
    tensor.rows = 1;
    tensor.outermost = dimensions.back();
    if (tensor.columns == 0 || tensor.columns > kMost) return false;
    for (const std::uint64_t extent : dimensions.subspan(1)) {
        if (extent == 0 || extent > kMost / tensor.columns / tensor.rows) return false;
        tensor.rows *= extent;
    }
    return true;
}

}  // namespace

GgufFile::GgufFile(std::span<const std::byte> bytes, std::string path) : path_(std::move(path)) {
    ByteCursor cursor(bytes, path_);
    read_version(cursor);
    const auto tensor_count = read_count(cursor, "the number of tensors", kLeastTensorBytes);
    const auto pair_count = read_count(cursor, "the number of metadata entries", kLeastPairBytes);
    read_metadata(cursor, pair_count);
    read_tensor_table(cursor, tensor_count);
    header_bytes_ = cursor.position();
    place_tensors(bytes);
}

void GgufFile::read_metadata(ByteCursor& cursor, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::string_view key = cursor.text("a metadata key");
        if (key.empty() || key.size() > kMaxNameBytes)
            cursor.fail(fmt::format("metadata entry {} has a key of {} bytes", i, key.size()));
        const auto type = cursor.number<std::uint32_t>("the type of a metadata value");
        GgufValue value = read_value(cursor, checked_type(cursor, type, key), key);
        if (!metadata_.try_emplace(key, std::move(value)).second)
            cursor.fail(fmt::format("metadata key {} occurs twice", printable(key)));
    }
}

GgufValue GgufFile::read_value(ByteCursor& cursor, GgufType type, std::string_view key) const {
    const std::string what = "the value of " + printable(key);
    if (type == GgufType::String) return cursor.text(what);
    if (type == GgufType::Array) return read_array(cursor, key);
    const auto value = decode(type, cursor.take(1, element_bytes(type), what).data());
    if (!value) cursor.fail(fmt::format("{} is neither true nor false", what));
    return *value;
}

GgufArray GgufFile::read_array(ByteCursor& cursor, std::string_view key) const {
    const std::string what = "the array " + printable(key);
    GgufArray array{};
    array.element_type = checked_type(cursor, cursor.number<std::uint32_t>(what), key);
    if (array.element_type == GgufType::Array) cursor.fail(what + " holds arrays, which is not supported");
    array.count = cursor.number<std::uint64_t>(what);
    if (array.element_type != GgufType::String) {
        array.bytes = cursor.take(array.count, element_bytes(array.element_type), what);
        return array;
    }
    if (array.count > cursor.remaining() / kLeastTextBytes)
        cursor.fail(
            fmt::format("{} should have {} texts, more than the file has room for", what, array.count));
    array.texts.reserve(array.count);
    for (std::uint64_t i = 0; i < array.count; ++i) array.texts.push_back(cursor.text(what));
    return array;
}

void GgufFile::read_tensor_table(ByteCursor& cursor, std::uint64_t count) {
    std::map<std::uint32_t, std::pair<std::size_t, std::string>>
        unsupported;  // by type: how many tensors, and the name of the first
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::string_view tensor_name = cursor.text("a tensor's name");
        const std::string shown = printable(tensor_name);
        if (tensor_name.empty() || tensor_name.size() > kMaxNameBytes)
            cursor.fail(fmt::format("tensor {} has a name of {} bytes", i, tensor_name.size()));
        const auto dimension_count = cursor.number<std::uint32_t>("the dimensions of " + shown);
        if (dimension_count < 1 || dimension_count > kMaxDimensions)
            cursor.fail(fmt::format("tensor {} has {} dimensions", shown, dimension_count));
        std::array<std::uint64_t, kMaxDimensions> dimensions{};
        for (std::uint32_t d = 0; d < dimension_count; ++d)
            dimensions[d] = cursor.number<std::uint64_t>("the dimensions of " + shown);
        StoredTensor tensor{};
        if (!set_shape(tensor, std::span(dimensions).first(dimension_count)))
            cursor.fail(fmt::format("tensor {} has an impossible shape", shown));
        const auto type = cursor.number<std::uint32_t>("the type of " + shown);
        tensor.offset = cursor.number<std::uint64_t>("the offset of " + shown);
        const auto format = weight_format_of_gguf_type(type);
        if (!format) {
            auto& [occurrences, first] = unsupported[type];
            if (occurrences++ == 0) first = shown;
            continue;
        }
        tensor.format = *format;
        if (tensor.columns % block_size(*format) != 0)
            cursor.fail(fmt::format("tensor {} is in {} but its rows have {} weights, not a multiple of {}",
                                    shown, llm::name(*format), tensor.columns, block_size(*format)));
        tensor.bytes = tensor.rows * row_bytes(*format, tensor.columns);
        if (!tensors_.try_emplace(std::string(tensor_name), tensor).second)
            cursor.fail(fmt::format("tensor {} occurs twice", shown));
    }
    for (const auto& [type, occurrence] : unsupported)
        fail(fmt::format("{} tensors ({} first) are {}, which is not supported (supported: {})",
                         occurrence.first, occurrence.second, ggml_type_text(type), supported_formats()));
}

void GgufFile::place_tensors(std::span<const std::byte> bytes) {
    const std::uint64_t alignment = find<std::uint64_t>("general.alignment").value_or(kDefaultAlignment);
    if (!std::has_single_bit(alignment) || alignment < 8 || alignment > kMaxAlignment)
        fail(fmt::format("general.alignment is {}, not a power of two from 8 to {}", alignment,
                         kMaxAlignment));
    if (tensors_.empty()) return;
    header_bytes_ = (header_bytes_ + alignment - 1) / alignment * alignment;
    if (header_bytes_ > bytes.size()) fail("the file ends before the data of its tensors");
    const std::uint64_t data_bytes = bytes.size() - header_bytes_;

    std::vector<std::pair<const std::string, StoredTensor>*> order;
    for (auto& entry : tensors_) {
        StoredTensor& tensor = entry.second;
        if (tensor.offset % alignment != 0)
            fail(fmt::format("tensor {} begins at offset {}, not a multiple of the alignment {}",
                             printable(entry.first), tensor.offset, alignment));
        if (tensor.offset > data_bytes || tensor.bytes > data_bytes - tensor.offset)
            fail(fmt::format(
                "tensor {} reaches beyond the end of the file: {} bytes at byte {} of {} (cut off?)",
                printable(entry.first), tensor.bytes, header_bytes_ + tensor.offset, bytes.size()));
        order.push_back(&entry);
    }
    std::ranges::sort(order, {}, [](const auto* entry) { return entry->second.offset; });
    for (std::size_t i = 1; i < order.size(); ++i)
        if (order[i - 1]->second.offset + order[i - 1]->second.bytes > order[i]->second.offset)
            fail(fmt::format("tensors {} and {} overlap", printable(order[i - 1]->first),
                             printable(order[i]->first)));
    for (auto* entry : order) {
        entry->second.offset += header_bytes_;
        entry->second.data = bytes.data() + entry->second.offset;
    }
}

void GgufFile::fail(const std::string& message) const {
    throw FileError(fmt::format("{}: {}", path_, message), ExitCode::BadInput);
}

void GgufFile::fail_wrong_kind(std::string_view key) const {
    fail(fmt::format("the value of {} is not of the expected type or range", key));
}

}  // namespace voltpile::llm
