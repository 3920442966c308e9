// Iterations whose points escape or stay near the origin, over a real type.
#pragma once

#include "rootmap/state.h"

namespace voltpile::rootmap {
inline namespace VOLTPILE_TARGET {

// Maps have: next(constants, state), which moves z and `other` and may use x^2 and y^2 in `aid`.

// z^2 + c. derivative: with respect to c, which is 2 z z' + 1 (Mandelbrot), or to the start, 2 z z' (Julia).
enum class Follow { Nothing, ByConstant, ByStart };

template <Follow follow>
struct Quadratic {
    template <class Real>
    static VOLTPILE_HD void next(const MapConstants<Real>& constants, State<Real>& s) {
        if constexpr (follow != Follow::Nothing) {
            const Complex<Real> product = s.z * s.other;
            s.other = {product.x + product.x, product.y + product.y};
            if constexpr (follow == Follow::ByConstant) s.other.x = s.other.x + Real(1.0);
        }
        const Real x = (s.aid.x - s.aid.y) + constants.value[0];
        s.z.y = (s.z.x + s.z.x) * s.z.y + constants.value[1];
        s.z.x = x;
    }
};

struct BurningShip {
    template <class Real>
    static VOLTPILE_HD void next(const MapConstants<Real>& constants, State<Real>& s) {
        const Real x = (s.aid.x - s.aid.y) + constants.value[0];
        const Real product = (s.z.x + s.z.x) * s.z.y;
        s.z.y = larger(product, -product) + constants.value[1];
        s.z.x = x;
    }
};

struct Henon {
    template <class Real>
    static VOLTPILE_HD void next(const MapConstants<Real>& constants, State<Real>& s) {
        const Real x = (Real(1.0) - constants.value[0] * s.aid.x) + s.z.y;
        s.z.y = constants.value[1] * s.z.x;
        s.z.x = x;
    }
};

// An iteration as the lanes take it (map_lanes.h).
template <class Map>
struct EscapeMap {
    static constexpr bool escapes = true;

    template <class Given, class Real>
    static VOLTPILE_HD void start(const Given&, State<Real>& s) {
        measure(s);
    }

    template <class Given, class Real>
    static VOLTPILE_HD void step(const Given&, const MapConstants<Real>& constants, State<Real>& s) {
        Map::next(constants, s);
        measure(s);
    }

  private:
    template <class Real>
    static VOLTPILE_HD void measure(State<Real>& s) {
        s.aid = {s.z.x * s.z.x, s.z.y * s.z.y};
        s.measure = s.aid.x + s.aid.y;
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::rootmap
