#include "job/key_place.h"

#include <fmt/format.h>

#include <ranges>

#include "job/document.h"
#include "job/parameter.h"

namespace voltpile {
namespace {

// Returns the line of the key, or of the innermost table around it that exists; 0 if there is none.
int line_of(const Node& document, const std::string& path) {
    const auto steps = parse_path(path);
    if (!steps) return 0;
    const Node* node = &document;
    int line = 0;
    for (const PathStep& step : *steps) {
        node = node->find(step.name);
        if (!node) return line;
        line = node->origin.line;
    }
    return line;
}

}  // namespace

std::string place_of_key(const JobSpec& job, const std::string& path) {
    for (const std::string& change : std::views::reverse(job.overrides()))
        if (change.substr(0, change.find('=')) == path) return "--set " + shown(change);
    const int line = line_of(parse_document(job.text(), job.path()), path);
    return line > 0 ? fmt::format("{}:{}", job.path(), line) : job.path();
}

}  // namespace voltpile
