#include "llm/model/gguf_entries.h"

#include "llm/model/byte_cursor.h"
#include "llm/model/gguf_value.h"

namespace voltpile::llm {
namespace {

void skip_value(ByteCursor& cursor, GgufType type) {
    if (type == GgufType::String) {
        cursor.text("a text");
    } else if (type == GgufType::Array) {
        const auto element = static_cast<GgufType>(cursor.number<std::uint32_t>("the type of an array"));
        const auto count = cursor.number<std::uint64_t>("the size of an array");
        if (element != GgufType::String) {
            cursor.take(count, element_bytes(element), "an array");
            return;
        }
        for (std::uint64_t i = 0; i < count; ++i) cursor.text("a text");
    } else {
        cursor.take(1, element_bytes(type), "a number");
    }
}

}  // namespace

std::vector<GgufEntry> gguf_entries(std::span<const std::byte> bytes, const std::string& path) {
    ByteCursor cursor(bytes, path);
    cursor.take(8, 1, "the mark and the version");
    cursor.number<std::uint64_t>("the number of tensors");
    const auto count = cursor.number<std::uint64_t>("the number of metadata entries");
    std::vector<GgufEntry> entries;
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::size_t begin = cursor.position();
        const std::string_view key = cursor.text("a metadata key");
        skip_value(cursor,
                   static_cast<GgufType>(cursor.number<std::uint32_t>("the type of a metadata value")));
        entries.push_back({key, bytes.subspan(begin, cursor.position() - begin)});
    }
    return entries;
}

}  // namespace voltpile::llm
