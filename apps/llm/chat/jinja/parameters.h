// Matches the arguments of a call with the parameters of a built-in function, as Python does.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "llm/chat/jinja/object.h"

namespace voltpile::llm::jinja {

class Parameters {
  public:
    // function: for messages. names: of the parameters, in order. The arguments must outlive this object.
    // Throws Problem for too many arguments, for an unknown name and for a parameter that is set twice.
    Parameters(std::string_view function, const Arguments& arguments,
               std::initializer_list<std::string_view> names);

    // Returns nullptr if the parameter is not set.
    const Value* find(std::size_t parameter) const { return values_[parameter]; }

    // The following throw Problem if the argument has the wrong type.

    const Value& required(std::size_t parameter) const;
    bool truth(std::size_t parameter, bool otherwise) const;
    std::int64_t integer(std::size_t parameter, std::int64_t otherwise) const;
    const std::string& text(std::size_t parameter) const;
    // Returns nothing if the parameter is not set or None.
    std::optional<std::string_view> optional_text(std::size_t parameter) const;

  private:
    [[noreturn]] void fail_type(std::size_t parameter, std::string_view wanted) const;

    std::string_view function_;
    std::vector<std::string_view> names_;
    std::vector<const Value*> values_;
};

}  // namespace voltpile::llm::jinja
