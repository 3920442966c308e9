#include "llm/model/json_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/format.h"
#include "llm/model/byte_cursor.h"
#include "llm/model/mapped_file.h"

namespace voltpile::llm {

using nlohmann::json;

json parse_checked_json(std::string_view text, const std::function<void(const JsonProgress&)>& check) {
    std::vector<std::set<std::string>> open;  // the keys of each object that has not ended
    std::optional<std::string> duplicate;
    return json::parse(text.begin(), text.end(), [&](int depth, json::parse_event_t event, json& parsed) {
        if (event == json::parse_event_t::object_start) open.emplace_back();
        if (event == json::parse_event_t::object_end) open.pop_back();
        if (event == json::parse_event_t::key) {
            const auto& key = parsed.get_ref<const std::string&>();
            if (!open.back().insert(key).second && !duplicate) duplicate = key;
        }
        check({depth, duplicate});
        return true;
    });
}

json parse_json_object(std::string_view text, std::string_view path, int max_depth) {
    const auto fail = [&](const std::string& message) -> void {
        throw FileError(fmt::format("{}: {}", path, message), ExitCode::BadInput);
    };
    const auto check = [&](const JsonProgress& progress) {
        if (progress.depth > max_depth)
            fail(fmt::format("the JSON is nested deeper than {} levels", max_depth));
        if (progress.duplicate) fail(fmt::format("\"{}\" occurs twice", printable(*progress.duplicate)));
    };
    json object;
    try {
        object = parse_checked_json(text, check);
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
        throw FileError(fmt::format("{} has {}, which is too large for this file", path,
                                    bytes_text(static_cast<double>(bytes.size()))),
                        ExitCode::BadInput);
    return parse_json_object({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path, max_depth);
}

}  // namespace voltpile::llm
