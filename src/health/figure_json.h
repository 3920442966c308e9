// Figures as JSON: what the measuring process writes, and the reports of `voltpile check`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "health/measure_node.h"

namespace voltpile {

// {"figure": "fp64", "place": ..., "model": ..., "value": 7.6e12, "theory": 7.8e12, "least": 5.5e12}; what is
// unknown is left out.
nlohmann::json figure_json(const Figure& figure);
Figure figure_from(const nlohmann::json& object);

// The lines that the measuring process writes, each before or after the work it is about.
std::string begin_line(const std::string& what);
std::string figure_line(const Figure& figure);
std::string failure_line(const std::string& text);
std::string skipped_line(const std::string& text);

// Adds what a line says to `node`. Returns what begins if it is a begin_line. Ignores a line that is cut off:
// its process was ended.
std::optional<std::string> add_line(const std::string& line, NodeFigures& node);

}  // namespace voltpile
