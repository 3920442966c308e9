#include "llm/model/safetensors_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/error.h"
#include "llm/model/byte_cursor.h"
#include "llm/model/json_file.h"

namespace voltpile::llm {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the format's own library
constexpr int kMaxDepth = 4;
constexpr std::size_t kMaxTensorDimensions = 4;
constexpr std::uint64_t kMaxWeights = std::uint64_t{1} << 40;  // of a tensor; keeps all products in range

struct Type {
    std::string_view name;
    WeightFormat format;
    StoredType element;
};
constexpr std::array<Type, 9> kTypes = {{{"F32", WeightFormat::F32, StoredType::Weight},
                                         {"F16", WeightFormat::F16, StoredType::Weight},
                                         {"BF16", WeightFormat::BF16, StoredType::Weight},
                                         {"I8", WeightFormat::F32, StoredType::I8},
                                         {"U8", WeightFormat::F32, StoredType::U8},
                                         {"I32", WeightFormat::F32, StoredType::I32},
                                         {"I64", WeightFormat::F32, StoredType::I64},
                                         {"F8_E4M3", WeightFormat::F32, StoredType::Float8},
                                         {"BOOL", WeightFormat::F32, StoredType::Bool}}};

std::uint64_t element_bytes(const StoredTensor& tensor) {
    switch (tensor.element) {
        case StoredType::Weight:
            return block_bytes(tensor.format);
        case StoredType::I32:
            return 4;
        case StoredType::I64:
            return 8;
        default:
            return 1;
    }
}

std::string unsupported_type(std::string_view type) {
    return fmt::format("is in {}, which is not supported (supported: F16, BF16, F32)", printable(type));
}

class HeaderReader {
  public:
    HeaderReader(std::string_view path, std::uint64_t data_bytes) : path_(path), data_bytes_(data_bytes) {}

    StoredTensor tensor(const std::string& name, const json& entry) const {
        if (!entry.is_object()) fail(name, "is not described by an object");
        StoredTensor tensor{};
        set_type(name, member(name, entry, "dtype"), tensor);
        set_shape(name, member(name, entry, "shape"), tensor);
        const json& offsets = member(name, entry, "data_offsets");
        if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
            !offsets[1].is_number_unsigned())
            fail(name, "has data_offsets that are not two numbers");
        const auto begin = offsets[0].get<std::uint64_t>();
        const auto end = offsets[1].get<std::uint64_t>();
        if (begin > end || end > data_bytes_)
            fail(name, fmt::format("lies at {} to {}, outside the file's {} bytes of data (cut off?)", begin,
                                   end, data_bytes_));
        tensor.offset = begin;
        tensor.bytes = tensor.rows * tensor.columns * element_bytes(tensor);
        if (tensor.bytes != end - begin)
            fail(name, fmt::format("has {} bytes where its shape needs {}", end - begin, tensor.bytes));
        return tensor;
    }

  private:
    [[noreturn]] void fail(const std::string& name, const std::string& message) const {
        throw FileError(fmt::format("{}: tensor {} {}", path_, printable(name), message), ExitCode::BadInput);
    }

    const json& member(const std::string& name, const json& entry, const char* key) const {
        const auto found = entry.find(key);
        if (found == entry.end()) fail(name, fmt::format("has no {}", key));
        return *found;
    }

    void set_type(const std::string& name, const json& dtype, StoredTensor& tensor) const {
        if (!dtype.is_string()) fail(name, "has a dtype that is not a text");
        const auto& text = dtype.get_ref<const std::string&>();
        const auto found = std::ranges::find(kTypes, std::string_view(text), &Type::name);
        if (found == kTypes.end()) fail(name, unsupported_type(text));
        tensor.format = found->format;
        tensor.element = found->element;
    }

    void set_shape(const std::string& name, const json& shape, StoredTensor& tensor) const {
        if (!shape.is_array() || shape.size() > kMaxTensorDimensions)
            fail(name, "has a shape that is not a list of at most 4 numbers");
        std::uint64_t weights = 1;
        for (const json& extent : shape) {
            if (!extent.is_number_unsigned()) fail(name, "has a shape that is not a list of numbers");
            const auto number = extent.get<std::uint64_t>();
            if (number == 0 || number > kMaxWeights / weights) fail(name, "has an impossible shape");
            weights *= number;
        }
        tensor.dimensions = static_cast<int>(shape.size());
        tensor.columns = shape.empty() ? 1 : shape.back().get<std::uint64_t>();
        if (!shape.empty()) tensor.outermost = shape.front().get<std::uint64_t>();
        tensor.rows = weights / tensor.columns;
    }

    std::string_view path_;
    std::uint64_t data_bytes_;
};

}  // namespace

void check_only_weights(const StoredTensors& tensors, std::string_view path) {
    for (const auto& [name, tensor] : tensors) {
        if (tensor.element == StoredType::Weight) continue;
        const auto type = std::ranges::find(kTypes, tensor.element, &Type::element);
        throw FileError(fmt::format("{}: tensor {} {}", path, printable(name), unsupported_type(type->name)),
                        ExitCode::BadInput);
    }
}

SafetensorsFile::SafetensorsFile(std::span<const std::byte> bytes, std::string path)
    : path_(std::move(path)) {
    const auto fail = [&](const std::string& message) {
        throw FileError(fmt::format("{}: {}", path_, message), ExitCode::BadInput);
    };
    ByteCursor cursor(bytes, path_);
    const auto json_bytes = cursor.number<std::uint64_t>("the length of the header");
    if (json_bytes > kMaxHeaderBytes)
        fail(fmt::format("this is not a safetensors file: its header would have {} bytes", json_bytes));
    const auto header = cursor.take(json_bytes, 1, "the header");
    header_bytes_ = cursor.position();
    const json table =
        parse_json_object({reinterpret_cast<const char*>(header.data()), header.size()}, path_, kMaxDepth);

    const HeaderReader reader(path_, cursor.remaining());
    std::vector<std::pair<const std::string, StoredTensor>*> order;
    for (const auto& [name, entry] : table.items())
        if (name != "__metadata__")
            order.push_back(&*tensors_.emplace(name, reader.tensor(name, entry)).first);
    std::ranges::sort(order, {}, [](const auto* entry) { return entry->second.offset; });
    std::uint64_t expected = 0;
    for (auto* entry : order) {
        StoredTensor& tensor = entry->second;
        if (tensor.offset != expected)
            fail(fmt::format("tensor {} lies at {} of the data, where {} is expected: a gap or an overlap",
                             printable(entry->first), tensor.offset, expected));
        expected += tensor.bytes;
        tensor.offset += header_bytes_;
        tensor.data = bytes.data() + tensor.offset;
    }
    if (expected != cursor.remaining())
        fail(fmt::format("{} bytes of data belong to no tensor", cursor.remaining() - expected));
}

}  // namespace voltpile::llm
