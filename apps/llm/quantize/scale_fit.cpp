#include "llm/quantize/scale_fit.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace voltpile::llm {
namespace {

constexpr std::size_t kLanes = 8;  // the compiler makes vectors of them
using Lanes = std::array<float, kLanes>;

float sum(const Lanes& lanes) {
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

// Rounds |x| < 2^22 to the nearest integer, as adding 1.5 * 2^23 leaves no bits for a fraction.
float rounded(float x) {
    constexpr float kMagic = 12582912;
    return (x + kMagic) - kMagic;
}

float in_range(float x, float least, float most) {
    x = x < least ? least : x;
    return x > most ? most : x;
}

// The sums of w, w x, w q, w q^2, w x q for q = round(inverse (x - offset)).
struct Sums {
    float w, x, q, qq, xq;
};

Sums sums_of(const Group& group, float inverse, float offset, float least, float most) {
    Lanes w{}, wx{}, wq{}, wqq{}, wxq{};
    for (std::size_t i = 0; i < group.count; i += kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const float x = group.x[i + lane], weight = group.importance[i + lane];
            const float q = rounded(in_range((x - offset) * inverse, least, most));
            w[lane] += weight;
            wx[lane] += weight * x;
            wq[lane] += weight * q;
            wqq[lane] += weight * q * q;
            wxq[lane] += weight * x * q;
        }
    }
    return {sum(w), sum(wx), sum(wq), sum(wqq), sum(wxq)};
}

// The best scale without offset for fixed integers, and by how much it lowers the squares.
struct ScaleGain {
    float scale = 0;
    float gain = 0;
};

ScaleGain best_scale(const Sums& sums) {
    if (sums.qq <= 0) return {};
    return {sums.xq / sums.qq, sums.xq * sums.xq / sums.qq};
}

// The best scale and offset for fixed integers.
struct AffineGain {
    AffineFit fit;
    float gain = 0;
};

AffineGain best_affine(const Sums& s, int offset_sign) {
    const float determinant = s.w * s.qq - s.q * s.q;
    AffineGain best;
    if (determinant > 1e-6f * s.w * s.qq) {
        best.fit.scale = (s.w * s.xq - s.q * s.x) / determinant;
        best.fit.offset = (s.qq * s.x - s.q * s.xq) / determinant;
        best.gain = best.fit.scale * s.xq + best.fit.offset * s.x;
        if (best.fit.scale >= 0 && (offset_sign == 0 || best.fit.offset <= 0)) return best;
    }
    const ScaleGain straight = best_scale(s);
    if (straight.scale <= 0) return {};
    return {{straight.scale, 0}, straight.gain};
}

constexpr int kRefinements = 3;

}  // namespace

float fit_scale(const Group& group, const IntegerRange& range) {
    float largest = 0;
    for (std::size_t i = 0; i < group.count; ++i)
        if (std::abs(group.x[i]) > std::abs(largest)) largest = group.x[i];
    if (largest == 0) return 0;
    const auto least = static_cast<float>(range.least), most = static_cast<float>(range.most);
    ScaleGain best;
    const auto attempt = [&](float inverse) {
        const ScaleGain found = best_scale(sums_of(group, inverse, 0, least, most));
        if (found.gain > best.gain) best = found;
        return found;
    };
    // Beyond the end of the range, the largest weights are clipped for a finer grid.
    const float beyond = std::max(1.f, 0.25f * most);
    const float step = std::max(0.1f, beyond / 12);
    for (const float end : {least, most})
        for (float shift = -0.9f; shift <= beyond; shift += step)
            attempt((end + std::copysign(shift, end)) / largest);
    if (best.scale == 0) return largest / least;  // all important weights are 0
    for (int i = 0; i < kRefinements; ++i) {
        const ScaleGain before = best;
        attempt(1 / best.scale);
        if (!(best.gain > before.gain)) break;
    }
    return best.scale;
}

AffineFit fit_affine(const Group& group, int most_integer, int offset_sign) {
    const auto [low, high] = std::minmax_element(group.x, group.x + group.count);
    const float min = offset_sign < 0 ? std::min(*low, 0.f) : *low;
    const float max = *high;
    if (!(max > min)) return {0, min};
    const auto most = static_cast<float>(most_integer);
    AffineGain best;
    best.fit = {(max - min) / most, min};
    bool found_any = false;
    const auto attempt = [&](float inverse, float offset) {
        const AffineGain found = best_affine(sums_of(group, inverse, offset, 0, most), offset_sign);
        if (found.fit.scale > 0 && (!found_any || found.gain > best.gain)) {
            best = found;
            found_any = true;
        }
    };
    const float beyond = std::max(0.6f, 0.2f * most);
    const float step = std::max(0.1f, beyond / 10);
    for (float shift = -0.9f; shift <= beyond; shift += step) {
        const float inverse = (most + shift) / (max - min);
        attempt(inverse, min);
        // Clips both ends alike.
        if (shift > 0) attempt(inverse, min + shift / 2 / inverse);
    }
    for (int i = 0; found_any && i < kRefinements; ++i) {
        const float before = best.gain;
        attempt(1 / best.fit.scale, best.fit.offset);
        if (!(best.gain > before)) break;
    }
    return best.fit;
}

int nearest_integer(float x, float scale, float offset, const IntegerRange& range) {
    if (scale == 0) return 0;
    const float q =
        in_range((x - offset) / scale, static_cast<float>(range.least), static_cast<float>(range.most));
    return static_cast<int>(rounded(q));
}

double squared_error(const Group& group, const AffineFit& fit, const IntegerRange& range) {
    const float inverse = fit.scale == 0 ? 0 : 1 / fit.scale;
    const auto least = static_cast<float>(range.least), most = static_cast<float>(range.most);
    Lanes error{};
    for (std::size_t i = 0; i < group.count; i += kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const float x = group.x[i + lane] - fit.offset;
            const float q = rounded(in_range(x * inverse, least, most));
            const float difference = x - fit.scale * q;
            error[lane] += group.importance[i + lane] * difference * difference;
        }
    }
    return sum(error);
}

}  // namespace voltpile::llm
