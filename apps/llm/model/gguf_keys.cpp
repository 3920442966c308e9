#include "llm/model/gguf_keys.h"

#include <fmt/format.h>

#include <limits>

#include "base/error.h"

namespace voltpile::llm {

std::string GgufKeys::full(std::string_view key) const {
    return fmt::format("{}.{}", architecture_, key);
}

std::int64_t GgufKeys::integer(std::string_view key) const {
    const auto value = find_integer(key);
    if (!value) fail(fmt::format("the metadata has no {}", full(key)));
    return *value;
}

double GgufKeys::real(std::string_view key) const {
    const auto value = find_real(key);
    if (!value) fail(fmt::format("the metadata has no {}", full(key)));
    return *value;
}

std::optional<std::int64_t> GgufKeys::find_absolute(std::string_view key) const {
    const auto value = file_.find<std::uint64_t>(key);
    if (!value) return std::nullopt;
    if (*value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        fail(fmt::format("{} is {}, out of range", key, *value));
    return static_cast<std::int64_t>(*value);
}

void GgufKeys::fail(const std::string& message) const {
    throw FileError(fmt::format("{}: {}", file_.path(), message), ExitCode::BadInput);
}

}  // namespace voltpile::llm
