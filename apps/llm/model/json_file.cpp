#include "llm/model/json_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/format.h"
#include "llm/model/byte_cursor.h"
#include "llm/model/duplicate_keys.h"
#include "llm/model/mapped_file.h"

namespace voltpile::llm {

using nlohmann::json;

json parse_json_object(std::string_view text, std::string_view path, int max_depth) {
    const auto fail = [&](const std::string& message) -> void {
        throw FileError(fmt::format("{}: {}", path, message), ExitCode::BadInput);
    };
    DuplicateKeys duplicates;
    const auto check = [&](int depth, json::parse_event_t event, json& parsed) {
        if (depth > max_depth) fail(fmt::format("the JSON is nested deeper than {} levels", max_depth));
        duplicates.hear(event, parsed);
        if (const auto& key = duplicates.first()) fail(fmt::format("\"{}\" occurs twice", printable(*key)));
        return true;
    };
    json object;
    try {
        object = json::parse(text.begin(), text.end(), check);
    } catch (const json::parse_error& error) {
        const auto before = text.substr(0, std::min(error.byte > 0 ? error.byte - 1 : 0, text.size()));
        fail(fmt::format("not valid JSON at byte {}, in line {}", before.size(),
                         std::ranges::count(before, '\n') + 1));
    } catch (const json::exception&) {
        fail("not valid JSON: a number is too large");
    }
    if (!object.is_object()) fail("this is not a JSON object");
    return object;
}

json read_json_object(const std::string& path, std::size_t max_bytes, int max_depth) {
    const MappedFile file(path);
    const auto bytes = file.bytes();
    if (bytes.size() > max_bytes)
        throw FileError(fmt::format("{} has {}, too much for what it should hold", path,
                                    bytes_text(static_cast<double>(bytes.size()))),
                        ExitCode::BadInput);
    return parse_json_object({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path, max_depth);
}

}  // namespace voltpile::llm
