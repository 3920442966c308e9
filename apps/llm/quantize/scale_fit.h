// Weighted least squares over a group of weights that share a scale. All arrays have `count` elements, a
// multiple of 8; importance: not negative.
#pragma once

#include <cstddef>

namespace voltpile::llm {

struct Group {
    const float* x;
    const float* importance;
    std::size_t count;
};

struct IntegerRange {
    int least;
    int most;
};

// Returns s that nearly minimizes sum_i importance[i] (x[i] - s q[i])^2 with q[i] the integer in the range
// nearest to x[i] / s. Tries scales that map the largest |x| near either end of the range, and gives each the
// exact minimum for its integers: s = sum(w x q) / sum(w q^2). 0 if all weights are 0.
float fit_scale(const Group& group, const IntegerRange& range);

// x[i] is about scale * q[i] + offset.
struct AffineFit {
    float scale = 0;  // not negative
    float offset = 0;
};

// Returns the fit that nearly minimizes the weighted squares with q[i] from 0 to most. offset_sign: -1 allows
// offsets up to 0 only, 0 allows all.
AffineFit fit_affine(const Group& group, int most, int offset_sign);

// Returns the integer in the range nearest to (x - offset) / scale; 0 for scale 0 (range.least <= 0).
int nearest_integer(float x, float scale, float offset, const IntegerRange& range);

// Returns sum_i importance[i] (x[i] - scale q[i] - offset)^2 with the nearest integers q.
double squared_error(const Group& group, const AffineFit& fit, const IntegerRange& range);

}  // namespace voltpile::llm
