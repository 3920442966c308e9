// Maps of the plane whose points stay bounded and fall into cycles or wander on a strange attractor.
#pragma once

#include "rootmap/state.h"
#include "sweep/sine.h"

namespace voltpile::rootmap {
inline namespace VOLTPILE_TARGET {

struct Clifford {
    template <class Real>
    static VOLTPILE_HD Complex<Real> of(const MapConstants<Real>& k, Complex<Real> z) {
        return {sine(k.value[0] * z.y) + k.value[2] * cosine(k.value[0] * z.x),
                sine(k.value[1] * z.x) + k.value[3] * cosine(k.value[1] * z.y)};
    }
};

struct DeJong {
    template <class Real>
    static VOLTPILE_HD Complex<Real> of(const MapConstants<Real>& k, Complex<Real> z) {
        return {sine(k.value[0] * z.y) - cosine(k.value[1] * z.x),
                sine(k.value[2] * z.x) - cosine(k.value[3] * z.y)};
    }
};

// An iteration as the lanes take it (map_lanes.h). It finds cycles after R. P. Brent (BIT 20, 176, 1980): it
// compares each point with one that it keeps, and keeps a new one after 1, 2, 4, ... steps.
template <class Map>
struct AttractorMap {
    static constexpr bool escapes = false;

    template <class Given, class Real>
    static VOLTPILE_HD void start(const Given& problem, State<Real>& s) {
        s.other = s.z;
        s.aid = {Real(0.0), Real(1.0)};
        s.measure = Real(problem.largest_measure);
    }

    template <class Given, class Real>
    static VOLTPILE_HD void step(const Given&, const MapConstants<Real>& constants, State<Real>& s) {
        const Real steps = s.aid.x, power = s.aid.y;
        s.other.x = select_not_above(power, steps, s.z.x, s.other.x);
        s.other.y = select_not_above(power, steps, s.z.y, s.other.y);
        s.aid.x = select_not_above(power, steps, Real(1.0), steps + Real(1.0));
        s.aid.y = select_not_above(power, steps, power + power, power);
        s.z = Map::of(constants, s.z);
        s.measure = squared_length(s.z - s.other);
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::rootmap
