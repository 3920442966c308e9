// Returns the message of the JobError that a call throws.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"

namespace voltpile::llm {

inline std::string message_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const JobError& error) {
        return error.what();
    }
    return "no error";
}

}  // namespace voltpile::llm
