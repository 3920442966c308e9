// One row of the table of job-file keys. Validation, `voltpile help job APP` and docs/job_file.md are all
// generated from these rows. key_table.cpp has the rows that every app shares; an app adds its own.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace voltpile {

class JobSpec;

enum class ValueType { Real, Integer, Boolean, Text };

// The value of a key. A scalar is a list of one element; nested lists are flattened in row-major order.
using Reals = std::vector<double>;
using Integers = std::vector<std::int64_t>;
using Booleans = std::vector<bool>;
using Texts = std::vector<std::string>;
using Value = std::variant<Reals, Integers, Booleans, Texts>;

// A range of numbers. NaN is never inside; infinity only if `max` is infinite and not open.
struct ValueRange {
    double min = -std::numeric_limits<double>::max();
    double max = std::numeric_limits<double>::max();
    bool min_open = false;
    bool max_open = false;
};

inline constexpr int any_length = -1;

struct KeySpec {
    std::string path = {};  // table and key: "system.mass"; "output.unit.NAME": any name
    ValueType type = ValueType::Real;
    std::vector<int> shape =
        {};  // {}: a scalar; {3}: a list of 3; {3, 3}: 3 lists of 3; {any_length}: a list
    // The last dimension is a vector in space: .x .y .z name its elements, as do [0] [1] [2].
    bool spatial = false;
    std::string unit = {};                    // UDUNITS spelling; "1": dimensionless; "": strings
    std::optional<Value> default_value = {};  // none: the key is required
    ValueRange range = {};                    // Real and Integer
    // Allowed strings; empty: any. A list with choices must have elements and must not repeat one.
    Texts choices = {};
    bool sweepable = false;   // a sweep may vary its numbers, or names in its strings
    bool file_order = false;  // of a key with any name: its texts keep the order of the job file
    bool identity = true;     // affects the result, so it is part of the job's fingerprint
    // False for identity keys that later versions added: with its default, the key is not part of the
    // fingerprint, so that jobs of earlier versions stay the same jobs. Needs a default.
    bool identity_default = true;
    std::string help = {};
};

// Reports a problem that an app's own check found. `key` determines the line that the message names.
using ReportProblem = std::function<void(const std::string& key, const std::string& message)>;

// What the job layer needs to know about an app.
struct AppSchema {
    std::string name = {};  // as in `app = "..."`
    // Increment it when results change in any bit, so that old and new parts never mix.
    int numerics_version = 1;
    std::string summary = {};        // one line for --help
    std::vector<KeySpec> keys = {};  // the app's own rows of the table
    bool sweeps = true;              // whether [[sweep]] defines its points
    bool frames = false;             // whether [frames] makes a movie of it
    bool refines = false;            // whether [refine] may leave points of its sweep out
    std::string example = {};        // a complete job file, shown by `help job`
    // Reports invalid combinations of values; may be empty. Runs only if each key and axis is valid.
    std::function<void(const JobSpec&, const ReportProblem&)> check = {};
};

}  // namespace voltpile
