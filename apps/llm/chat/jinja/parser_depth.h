// Limits the recursion of the parser, so that no template overflows the stack.
#pragma once

#include "llm/chat/jinja/limits.h"
#include "llm/chat/jinja/parser.h"

namespace voltpile::llm::jinja {

class Parser::Nested {
  public:
    explicit Nested(Parser& parser) : parser_(parser) {
        if (parser.depth_ >= kMostParserDepth) parser.fail("the template is nested too deeply");
        ++parser_.depth_;
    }
    ~Nested() { --parser_.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

  private:
    Parser& parser_;
};

}  // namespace voltpile::llm::jinja
