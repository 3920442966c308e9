// The labels around the picture of a field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plot/slice.h"
#include "results/field.h"
#include "results/result_layout.h"

namespace voltpile {

// An axis with points at equal distances from `first` to `last`.
struct PlotAxis {
    std::string name;  // with its unit
    double first = 0, last = 0;
    std::int64_t count = 1;
};

struct PlotLabels {
    std::string title, subtitle;
    PlotAxis x;
    std::optional<PlotAxis> y;       // none: a strip
    std::string shown;               // the quantity that the colors show, with its unit
    bool whole = false;              // it is a whole number
    std::int64_t block = 1;          // points per side of what is drawn as one
    std::vector<std::string> words;  // for the values 0, 1, ...; may be empty
};

// Returns the name of the quantity that the picture shows: "50000 - steps_together".
std::string shown_quantity(const FieldSpec& field);

// block: points per side of a block, which the picture draws as one (plot/plane.h).
PlotLabels plot_labels(const ResultLayout& layout, const FieldSpec& field, const Slice& slice,
                       std::int64_t block = 1);

}  // namespace voltpile
