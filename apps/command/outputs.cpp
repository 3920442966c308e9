#include "command/outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "job/named_texts.h"
#include "job/nearest.h"

namespace voltpile::command {
namespace {

using Json = nlohmann::json;

// Names of the fields that every job has, and of what results contain besides fields.
const Texts kTakenNames{"outcome", "exit_code", "seconds", "problem", "check", "telemetry", "plan"};

std::string short_text(std::string text) {
    constexpr std::size_t most = 60;
    if (text.size() > most) text = text.substr(0, most) + "...";
    return text;
}

// A message of the JSON library without its identification.
std::string plain_message(const std::exception& error) {
    const std::string text = error.what();
    const std::size_t end = text.find("] ");
    return end == std::string::npos ? text : text.substr(end + 2);
}

// Returns the last line that is not empty.
std::string last_line_of(std::string text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
        text.pop_back();
    const std::size_t begin = text.rfind('\n');
    return begin == std::string::npos ? text : text.substr(begin + 1);
}

// Throws JobError.
Json parse_json(const std::string& text, const std::string& what) {
    try {
        return Json::parse(text);
    } catch (const Json::exception& error) {
        throw JobError(fmt::format("{} is not JSON: {}", what, plain_message(error)));
    }
}

// The whole of stdout, or its last line, so that a program may print other lines before.
Json json_of(const RunTexts& texts, const std::string& json_file) {
    if (!json_file.empty()) {
        if (!texts.json_file) throw JobError("the program did not write " + json_file);
        return parse_json(*texts.json_file, json_file);
    }
    if (Json::accept(texts.out)) return Json::parse(texts.out);
    const std::string line = last_line_of(texts.out);
    if (line.empty()) throw JobError("the program printed nothing, where JSON was expected");
    return parse_json(line, fmt::format("the last line of stdout, \"{}\",", short_text(line)));
}

bool is_field_name(const std::string& name) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    return !name.empty() && name.size() <= 64 && letter(name[0]) &&
           std::ranges::all_of(name, [&](char c) { return letter(c) || digit(c); });
}

void check_name(const std::string& key, const std::string& name, const JobSpec& job,
                const ReportProblem& report) {
    if (!is_field_name(name))
        report(key,
               fmt::format("{}: \"{}\" cannot name a field: use at most 64 letters, digits and underscores, "
                           "the first no digit",
                           key, name));
    if (std::ranges::find(kTakenNames, name) != kTakenNames.end())
        report(key, fmt::format("{}: every result has \"{}\" already: choose another name", key, name));
    for (const SweepAxis& axis : job.axes())
        if (axis.name == name)
            report(key, fmt::format("{}: \"{}\" is an axis of the sweep: choose another name", key, name));
}

}  // namespace

Outputs::Outputs(const JobSpec& job) : json_file_(job.text("output.json_file")) {
    std::map<std::string, Field> all;
    for (const auto& [name, pattern] : named_texts(job, "output.regex.NAME"))
        all[name].pattern = OutputPattern(pattern);
    for (const auto& [name, pointer] : named_texts(job, "output.json.NAME")) {
        all[name].pointer = pointer;
        wants_json_ = true;
    }
    for (const auto& [name, type] : named_texts(job, "output.type.NAME"))
        all[name].type = type == "real" ? Type::Real : type == "integer" ? Type::Integer : Type::Text;
    for (const auto& [name, unit] : named_texts(job, "output.unit.NAME")) all[name].unit = unit;
    for (auto& [name, field] : all) {
        field.name = name;
        fields_.push_back(std::move(field));
    }
}

std::vector<FieldSpec> Outputs::fields() const {
    std::vector<FieldSpec> specs;
    for (const Field& field : fields_) {
        FieldSpec spec;
        spec.name = field.name;
        spec.type = field.type == Type::Integer ? FieldType::Int64 : FieldType::Float64;
        if (field.type == Type::Text) {
            spec.shape = FieldShape::Text;
            spec.usual_length = 32;
        } else {
            spec.unit = field.unit.empty() ? "1" : field.unit;
        }
        spec.long_name = field.name + " as the program reports it";
        specs.push_back(std::move(spec));
    }
    return specs;
}

std::string valid_text(const std::string& text) {
    return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

OutputValue Outputs::missing_value(Type type) {
    if (type == Type::Real) return std::numeric_limits<double>::quiet_NaN();
    if (type == Type::Integer) return std::numeric_limits<std::int64_t>::min();
    return std::string();
}

OutputValue Outputs::from_text(Type type, const std::string& text) {
    if (type == Type::Text) return valid_text(text);
    const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
    const char* const end = text.data() + text.size();
    double real = 0;
    std::int64_t integer = 0;
    const auto result =
        type == Type::Real ? std::from_chars(begin, end, real) : std::from_chars(begin, end, integer);
    if (result.ec != std::errc() || result.ptr != end || begin == end)
        throw JobError(fmt::format("\"{}\" is not {}", short_text(text),
                                   type == Type::Real ? "a real number" : "an integer of 64 bits"));
    return type == Type::Real ? OutputValue(real) : OutputValue(integer);
}

Extracted Outputs::nothing() const {
    Extracted extracted;
    for (const Field& field : fields_) extracted.values.push_back(missing_value(field.type));
    return extracted;
}

Extracted Outputs::extract(const RunTexts& texts) const {
    Extracted extracted = nothing();
    Json document;
    std::string json_problem;
    if (wants_json_) {
        try {
            document = json_of(texts, json_file_);
        } catch (const JobError& error) {
            json_problem = error.what();
            extracted.problems.push_back(json_problem);
        }
    }
    for (std::size_t i = 0; i < fields_.size(); ++i) {
        const Field& field = fields_[i];
        try {
            std::string text;
            if (field.pattern) {
                auto match = field.pattern->last_match(texts.out);
                if (!match) match = field.pattern->last_match(texts.err);
                if (!match) throw JobError("the pattern matches nothing that the program printed");
                text = match->front();
            } else {
                if (!json_problem.empty()) continue;  // said already
                const Json::json_pointer pointer(field.pointer);
                if (!document.contains(pointer) || document.at(pointer).is_null())
                    throw JobError(fmt::format("the JSON has no {}", field.pointer));
                const Json& value = document.at(pointer);
                text = value.is_string()                                ? value.get<std::string>()
                       : value.is_boolean() && field.type != Type::Text ? (value.get<bool>() ? "1" : "0")
                                                                        : value.dump();
            }
            extracted.values[i] = from_text(field.type, text);
        } catch (const std::exception& error) {
            extracted.problems.push_back(fmt::format("{}: {}", field.name, error.what()));
        }
    }
    return extracted;
}

void check_outputs(const JobSpec& job, const ReportProblem& report) {
    Texts names;
    for (const auto& [name, pattern] : named_texts(job, "output.regex.NAME")) {
        const std::string key = "output.regex." + name;
        check_name(key, name, job, report);
        names.push_back(name);
        try {
            OutputPattern{pattern};
        } catch (const JobError& error) {
            report(key, fmt::format("{} = '{}': {}", key, pattern, error.what()));
        }
    }
    for (const auto& [name, pointer] : named_texts(job, "output.json.NAME")) {
        const std::string key = "output.json." + name;
        check_name(key, name, job, report);
        if (std::ranges::find(names, name) != names.end())
            report(key, fmt::format("{}: output.regex has a pattern for \"{}\" already", key, name));
        names.push_back(name);
        try {
            static_cast<void>(Json::json_pointer(pointer));
        } catch (const Json::exception&) {
            report(key, fmt::format("{} = \"{}\": must be a JSON pointer, such as \"/final/energy\"", key,
                                    pointer));
        }
    }
    for (const std::string table : {"type", "unit"})
        for (const auto& [name, value] : named_texts(job, "output." + table + ".NAME"))
            if (std::ranges::find(names, name) == names.end()) {
                const std::string key = fmt::format("output.{}.{}", table, name);
                report(key, fmt::format("{}: neither output.regex nor output.json has \"{}\"{}", key, name,
                                        did_you_mean(nearest_word(name, names))));
            }
}

}  // namespace voltpile::command
