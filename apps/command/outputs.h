// The values that a job takes from what its program prints or writes: one field of the result for each.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "command/output_pattern.h"
#include "job/job_spec.h"
#include "results/field.h"

namespace voltpile::command {

using OutputValue = std::variant<double, std::int64_t, std::string>;

// What one run has left behind.
struct RunTexts {
    std::string out, err;                  // since this run began
    std::optional<std::string> json_file;  // contents of output.json_file; nothing: it does not exist
};

struct Extracted {
    std::vector<OutputValue> values;    // in the order of fields(); missing_value() where there is none
    std::vector<std::string> problems;  // one for each missing value
};

class Outputs {
  public:
    explicit Outputs(const JobSpec& job);  // a job that check_outputs() accepts

    std::vector<FieldSpec> fields() const;

    // Finds the values. Patterns are searched for in stdout, then in stderr; the last match counts.
    Extracted extract(const RunTexts& texts) const;

    Extracted nothing() const;  // the values of a run that was ended

  private:
    enum class Type { Real, Integer, Text };
    struct Field {
        std::string name;
        Type type = Type::Real;
        std::string unit;
        std::optional<OutputPattern> pattern;
        std::string pointer;  // into the JSON document, without a pattern
    };
    static OutputValue missing_value(Type type);
    static OutputValue from_text(Type type, const std::string& text);

    std::vector<Field> fields_;
    std::string json_file_;
    bool wants_json_ = false;
};

// Returns the text with U+FFFD for bytes that are not UTF-8.
std::string valid_text(const std::string& text);

// Reports what is wrong with the tables output.*.
void check_outputs(const JobSpec& job, const ReportProblem& report);

}  // namespace voltpile::command
