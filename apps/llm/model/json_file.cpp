#include "llm/model/json_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/format.h"
#include "llm/model/byte_cursor.h"
#include "llm/model/mapped_file.h"

namespace voltpile::llm {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

// Builds the value from what the parser reads. The library's own builder looks at all keys of an object
// before it adds one, which takes quadratic time.
class OrderedBuilder {
  public:
    using Members = std::vector<ordered_json::object_t::value_type>;

    explicit OrderedBuilder(const std::function<void(const JsonProgress&)>& check) : check_(check) {}

    ordered_json take() { return std::move(root_); }

    bool null() { return add(nullptr); }
    bool boolean(bool value) { return add(value); }
    bool number_integer(std::int64_t value) { return add(value); }
    bool number_unsigned(std::uint64_t value) { return add(value); }
    bool number_float(double value, const std::string&) { return add(value); }
    bool string(std::string& value) { return add(std::move(value)); }
    bool binary(ordered_json::binary_t&) { return false; }  // JSON texts have none

    bool start_object(std::size_t) { return open(ordered_json::object()); }
    bool start_array(std::size_t) { return open(ordered_json::array()); }
    bool end_object() { return close(); }
    bool end_array() { return close(); }
    bool key(std::string& name) {
        if (!open_.back().keys.insert(name).second && !duplicate_) duplicate_ = name;
        open_.back().key = std::move(name);
        check_({depth(), duplicate_});
        return true;
    }
    template <class Exception>
    bool parse_error(std::size_t, const std::string&, const Exception& error) {
        throw error;
    }

  private:
    struct Open {
        ordered_json value;
        std::string key;  // of the next member
        std::unordered_set<std::string> keys;
    };

    int depth() const { return static_cast<int>(open_.size()); }

    bool open(ordered_json value) {
        check_({depth(), duplicate_});
        open_.push_back({std::move(value), {}, {}});
        return true;
    }

    bool close() {
        ordered_json value = std::move(open_.back().value);
        open_.pop_back();
        place(std::move(value));
        return true;
    }

    bool add(ordered_json value) {
        check_({depth(), duplicate_});
        place(std::move(value));
        return true;
    }

    void place(ordered_json value) {
        if (open_.empty()) {
            root_ = std::move(value);
            return;
        }
        Open& parent = open_.back();
        if (parent.value.is_array())
            parent.value.get_ref<ordered_json::array_t&>().push_back(std::move(value));
        else
            static_cast<Members&>(parent.value.get_ref<ordered_json::object_t&>())
                .emplace_back(std::move(parent.key), std::move(value));
    }

    const std::function<void(const JsonProgress&)>& check_;
    std::vector<Open> open_;
    std::optional<std::string> duplicate_;
    ordered_json root_;
};

}  // namespace

ordered_json parse_checked_json(std::string_view text,
                                const std::function<void(const JsonProgress&)>& check) {
    OrderedBuilder builder(check);
    ordered_json::sax_parse(text.begin(), text.end(), &builder);
    return builder.take();
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
        object = json(parse_checked_json(text, check));
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
