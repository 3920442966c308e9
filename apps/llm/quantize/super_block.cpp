#include "llm/quantize/super_block.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/half.h"

namespace voltpile::llm {
namespace {

constexpr int kRounds = 3;  // of integers for fixed scales, then scales for fixed integers

float as_half(double value) {
    const float rounded = float_from_half(half_from_float(static_cast<float>(value)));
    return std::isfinite(rounded) ? rounded : 0;
}

class Fitter {
  public:
    Fitter(const float* x, const float* importance, std::size_t parts, const IntegerRange& range,
           const IntegerRange& scales)
        : x_(x), importance_(importance), parts_(parts), range_(range), scales_(scales) {}

    Group part(std::size_t p) const {
        const std::size_t size = kSuperBlock / parts_;
        return {x_ + p * size, importance_ + p * size, size};
    }

    // Chooses, for given d and dmin, each part's integers next to `wanted` with the least error.
    // Returns the error of the block.
    double choose_scales(SuperBlock& block, const std::array<AffineFit, 16>& wanted) const {
        double error = 0;
        for (std::size_t p = 0; p < parts_; ++p) {
            const Group group = part(p);
            const int scale = near(wanted[p].scale, block.d, scales_);
            const int min = near(-wanted[p].offset, block.dmin, scales_);
            double least = std::numeric_limits<double>::infinity();
            for (int s = std::max(scale - 1, scales_.least); s <= std::min(scale + 1, scales_.most); ++s) {
                for (int m = std::max(min - 1, 0); m <= std::min(min + 1, block.dmin == 0 ? 0 : scales_.most);
                     ++m) {
                    const double mine = squared_error(group, fit_of(block, s, m), range_);
                    if (mine >= least) continue;
                    least = mine;
                    block.scale[p] = s;
                    block.min[p] = m;
                }
            }
            error += least;
            const AffineFit fit = fit_of(block, block.scale[p], block.min[p]);
            for (std::size_t i = 0; i < group.count; ++i)
                block.q[p * group.count + i] = nearest_integer(group.x[i], fit.scale, fit.offset, range_);
        }
        return error;
    }

    // Returns the least squares of d and dmin for the integers of `block`.
    SuperBlock refitted(const SuperBlock& block) const {
        double aa = 0, ab = 0, bb = 0, ax = 0, bx = 0;  // a = scale * q, b = -min
        for (std::size_t p = 0; p < parts_; ++p) {
            const Group group = part(p);
            const double b = -block.min[p];
            for (std::size_t i = 0; i < group.count; ++i) {
                const double a = block.scale[p] * block.q[p * group.count + i];
                const double w = group.importance[i], x = group.x[i];
                aa += w * a * a;
                ab += w * a * b;
                bb += w * b * b;
                ax += w * a * x;
                bx += w * b * x;
            }
        }
        SuperBlock result = block;
        const double determinant = aa * bb - ab * ab;
        if (determinant > 1e-9 * aa * bb) {
            result.d = as_half((bb * ax - ab * bx) / determinant);
            result.dmin = as_half((aa * bx - ab * ax) / determinant);
        } else if (aa > 0) {
            result.d = as_half(ax / aa);
        }
        return result;
    }

    // Improves d and dmin in turn with the integers.
    SuperBlock improved(SuperBlock block, const std::array<AffineFit, 16>& wanted) const {
        double least = choose_scales(block, wanted);
        for (int round = 0; round < kRounds && least > 0; ++round) {
            SuperBlock next = refitted(block);
            if (next.d == 0 || next.dmin < 0) break;
            const double error = choose_scales(next, wanted);
            if (!(error < least)) break;
            block = next;
            least = error;
        }
        return block;
    }

  private:
    static AffineFit fit_of(const SuperBlock& block, int scale, int min) {
        return {block.d * static_cast<float>(scale), -(block.dmin * static_cast<float>(min))};
    }
    static int near(float wanted, float unit, const IntegerRange& range) {
        return nearest_integer(wanted, unit, 0, range);
    }

    const float* x_;
    const float* importance_;
    std::size_t parts_;
    IntegerRange range_, scales_;
};

}  // namespace

SuperBlock fit_symmetric(const float* x, const float* importance, std::size_t parts,
                         const IntegerRange& range, const IntegerRange& scales) {
    const Fitter fitter(x, importance, parts, range, scales);
    std::array<AffineFit, 16> wanted{};
    float largest = 0;
    for (std::size_t p = 0; p < parts; ++p) {
        wanted[p].scale = fit_scale(fitter.part(p), range);
        if (std::abs(wanted[p].scale) > std::abs(largest)) largest = wanted[p].scale;
    }
    SuperBlock block;
    block.d = as_half(largest / static_cast<float>(scales.least));
    if (block.d == 0) return {};
    return fitter.improved(block, wanted);
}

SuperBlock fit_with_minima(const float* x, const float* importance, std::size_t parts, int most,
                           int most_scale) {
    const Fitter fitter(x, importance, parts, {0, most}, {0, most_scale});
    std::array<AffineFit, 16> wanted{};
    float largest = 0, lowest = 0;
    for (std::size_t p = 0; p < parts; ++p) {
        wanted[p] = fit_affine(fitter.part(p), most, -1);
        largest = std::max(largest, wanted[p].scale);
        lowest = std::min(lowest, wanted[p].offset);
    }
    SuperBlock block;
    block.d = as_half(largest / static_cast<float>(most_scale));
    block.dmin = as_half(-lowest / static_cast<float>(most_scale));
    const bool too_small = largest > 0 && block.d == 0;  // for fp16, so minima alone would make it worse
    if (too_small || (block.d == 0 && block.dmin == 0)) return {};
    return fitter.improved(block, wanted);
}

}  // namespace voltpile::llm
