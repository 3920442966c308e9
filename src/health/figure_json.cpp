#include "health/figure_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace voltpile {
namespace {

using nlohmann::json;

// Texts come from drivers and may hold any byte.
std::string line_of(const json& object) {
    return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

json figure_json(const Figure& figure) {
    json object{{"figure", facts(figure.kind).name},
                {"place", figure.place},
                {"model", figure.model},
                {"value", figure.value}};
    if (figure.theory > 0) object["theory"] = figure.theory;
    if (figure.least > 0) object["least"] = figure.least;
    return object;
}

Figure figure_from(const json& object) {
    const std::string name = object.at("figure");
    const auto found = std::ranges::find(kFigureFacts, name, &FigureFacts::name);
    if (found == kFigureFacts.end()) throw MachineError(fmt::format("no figure has the name {}", name));
    return {static_cast<FigureKind>(found - kFigureFacts.begin()),
            object.at("place"),
            object.at("model"),
            object.at("value"),
            object.value("theory", 0.0),
            object.value("least", 0.0)};
}

std::string begin_line(const std::string& what) {
    return line_of({{"begin", what}});
}
std::string figure_line(const Figure& figure) {
    return line_of(figure_json(figure));
}
std::string failure_line(const std::string& text) {
    return line_of({{"failure", text}});
}
std::string skipped_line(const std::string& text) {
    return line_of({{"skipped", text}});
}

std::optional<std::string> add_line(const std::string& line, NodeFigures& node) {
    const json object = json::parse(line, nullptr, false);
    if (!object.is_object()) return std::nullopt;
    if (object.contains("begin")) return object["begin"];
    if (object.contains("figure")) node.figures.push_back(figure_from(object));
    if (object.contains("skipped")) node.not_measured.push_back(object["skipped"]);
    if (object.contains("failure"))
        node.findings.push_back({Health::Bad, object["failure"],
                                 "dmesg shows why (NVRM: Xid); reset the GPU or restart the node"});
    return std::nullopt;
}

}  // namespace voltpile
