// Formats numbers for people.
#pragma once

#include <cstdint>
#include <string>

namespace voltpile {

std::string bytes_text(double bytes);         // "1.2 GB" (powers of 1000)
std::string duration_text(double seconds);    // "0.42 s", "3 min 05 s", "2 h 14 min", "3 d 04 h"
std::string count_text(std::int64_t number);  // "1,000,000"

}  // namespace voltpile
