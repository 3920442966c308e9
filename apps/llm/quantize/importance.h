// What an error in each column of a matrix costs: the mean square of the input that it multiplies.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile::llm {

// The expected square of a product's error is sum_c error[c]^2 E[x[c]^2] for inputs without correlation.
struct ImportanceMatrix {
    // By tensor name as in the GGUF file. (columns) numbers, or (experts, columns) for stacked experts.
    std::map<std::string, std::vector<float>, std::less<>> columns;
    std::string text;          // the name of the text's file
    std::int64_t tokens = 0;   // of the text
    std::int64_t windows = 0;  // into which it was cut
};

}  // namespace voltpile::llm
