// One row of the table of job-file keys. Validation, `voltpile help job APP` and docs/job_file.md all come
// from these rows and from nothing else. The rows that every app shares are in common_keys.cpp; an app adds
// its own.
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

// A scalar is a list of one. Arrays are row-major.
using Reals = std::vector<double>;
using Integers = std::vector<std::int64_t>;
using Booleans = std::vector<bool>;
using Texts = std::vector<std::string>;
using Value = std::variant<Reals, Integers, Booleans, Texts>;

// NaN is never inside. Infinity is inside only when `max` is infinite and not open.
struct ValueRange {
    double min = -std::numeric_limits<double>::max();
    double max = std::numeric_limits<double>::max();
    bool min_open = false;
    bool max_open = false;
};

inline constexpr int any_length = -1;

struct KeySpec {
    std::string path = {};  // "system.mass": table and key
    ValueType type = ValueType::Real;
    std::vector<int> shape = {};  // {}: a scalar; {3}: three; {3, 3}: three of three; {any_length}: a list
    // The last dimension is a vector in space: its elements are .x .y .z as well as [0] [1] [2].
    bool spatial = false;
    std::string unit = {};                    // UDUNITS spelling; "1" for pure numbers, "" for texts
    std::optional<Value> default_value = {};  // none: the key is required
    ValueRange range = {};                    // Real and Integer
    // Text: what it may be; empty: anything. A list of choices must not be empty and must not repeat one.
    Texts choices = {};
    bool sweepable = false;  // any scalar element of it may be a sweep axis
    bool identity = true;    // changes the result, so it is part of the job's fingerprint
    std::string help = {};
};

// Collects what an app's own check finds wrong; `key` finds the line to blame.
using ReportProblem = std::function<void(const std::string& key, const std::string& message)>;

// What an app tells the job file's reader about itself.
struct AppSchema {
    std::string name = {};  // as in `app = "..."`
    // Raised when the app's results change bit-wise, so that old parts are never mixed with new ones.
    int numerics_version = 1;
    std::string summary = {};        // one line for --help
    std::vector<KeySpec> keys = {};  // its rows of the table
    bool sweeps = true;              // whether [[sweep]] makes its points
    std::string example = {};        // a complete job file, shown by `help job`
    // Impossible combinations; may be empty. Called when every key and every axis is sound by itself.
    std::function<void(const JobSpec&, const ReportProblem&)> check = {};
};

}  // namespace voltpile
