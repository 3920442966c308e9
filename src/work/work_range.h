// The unit of scheduling, of commit and of restart: a half-open interval of the flattened sweep.
#pragma once

#include <cstdint>

namespace voltpile {

struct WorkRange {
    std::int64_t begin = 0;
    std::int64_t end = 0;

    std::int64_t size() const { return end - begin; }
    bool empty() const { return end <= begin; }
    friend bool operator==(const WorkRange&, const WorkRange&) = default;
};

}  // namespace voltpile
