// Reads a call that a model writes as an object in JSON, byte by byte.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace voltpile::llm {

// Finds the end of a JSON value.
class JsonValueEnd {
  public:
    enum class Step {
        Inside,  // the byte belongs to the value
        Last,    // and ends it
        After,   // the value ended before the byte
        Broken,  // no value begins with the byte
    };
    Step read(char c);

  private:
    int depth_ = 0;
    bool begun_ = false, in_text_ = false, escaped_ = false;
};

// {"name": "f", "arguments": {...}}, or "parameters" for "arguments", with other members anywhere.
class CallObject {
  public:
    enum class Step { More, Done, Broken };
    // Reads the next byte, perhaps white space before the object. After Done or Broken no more may follow.
    Step read(char c);

    // The name of the tool, once it is known.
    const std::optional<std::string>& name() const { return name_; }
    // Returns the JSON of the arguments that came since the last call.
    std::string take_arguments() { return std::exchange(arguments_, {}); }

  private:
    enum class At { Object, FirstKey, Key, InKey, Colon, Value, InValue, AfterValue };

    Step read_value(char c);
    Step end_value();
    Step end_object();
    bool is_arguments() const { return key_ == "arguments" || key_ == "parameters"; }

    At at_ = At::Object;
    JsonValueEnd end_;
    std::string key_, value_;  // of the current member; no value if it is the arguments
    std::optional<std::string> name_;
    std::string arguments_;
    bool has_arguments_ = false;
};

}  // namespace voltpile::llm
