// A chat template in Jinja, as models bring it with them: the language and its functions as the Python
// library `transformers` sets them up. The text comes with a model, so it may be anything: parsing and
// rendering end with a message, and within limits of time and memory (limits.h).
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "llm/chat/jinja/value.h"

namespace voltpile::llm::jinja {

class Template {
  public:
    // Parses a template. where: its origin, for messages, as in "model.gguf". Throws JobError
    // "where: chat template, line N: ..." for invalid syntax.
    Template(std::string_view source, std::string_view where);

    // Returns the text for these variables, which must be texts in valid UTF-8 with their values. now: what
    // strftime_now() takes as the time, in seconds since 1970; without it, the time of the call. Any number
    // of threads may call this at once. Throws JobError as above for an error in the template, and for
    // messages that the template refuses with raise_exception().
    std::string render(const Entries& variables, std::optional<std::time_t> now = {}) const;

  private:
    struct Tree;

    std::string where_;
    std::shared_ptr<const Tree> tree_;
};

}  // namespace voltpile::llm::jinja
