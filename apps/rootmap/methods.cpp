#include "rootmap/methods.h"

#include <stdexcept>
#include <string>

namespace voltpile::rootmap {

namespace {

// Cycles: measured with AVX2 and SSE2 on a Zen 3 whose clock was a third above its nominal one; the same for
// both, in FP64 and FP32.
constexpr MethodInfo method_rows[] = {
    {"newton", Kind::Root, 2, false, 19, 16, 21, 7.6, "relaxation ", "z - p/p'"},
    {"halley", Kind::Root, 3, false, 38, 24, 33, 7.6, "relaxation ", "z - 2 p p' / (2 p'^2 - p p'')"},
    {"schroeder", Kind::Root, 2, false, 40, 24, 32, 7.7, "relaxation ",
     "z - p p' / (p'^2 - p p''), which also converges quadratically to multiple roots"},
    {"secant", Kind::Root, 1.6180339887498949, false, 28, 8, 27, 7.6, "relaxation secant_step ",
     "Newton's with the difference quotient of the last two points, which start at map.start and "
     "map.start + map.secant_step"},
    {"mandelbrot", Kind::Escape, 2, true, 8, 0, 7.8, 0, "constant ", "z^2 + c, c = map.constant"},
    {"julia", Kind::Escape, 2, true, 8, 0, 7.8, 0, "constant ",
     "the same map; a job sweeps map.start instead of map.constant"},
    {"burning_ship", Kind::Escape, 2, false, 10, 0, 8.5, 0, "constant ", "(|x| + i |y|)^2 + c"},
    {"henon", Kind::Escape, 0, false, 9, 0, 9.3, 0, "a b ", "(1 - a x^2 + y, b x)"},
    {"clifford", Kind::Attractor, 0, false, 140, 0, 120, 0, "a b c d ",
     "(sin(a y) + c cos(a x), sin(b x) + d cos(b y))"},
    {"de_jong", Kind::Attractor, 0, false, 140, 0, 122, 0, "a b c d ",
     "(sin(a y) - cos(b x), sin(c x) - cos(d y))"},
};

}  // namespace

std::span<const MethodInfo> methods() {
    return method_rows;
}

const MethodInfo& info(Method method) {
    return method_rows[static_cast<int>(method)];
}

Method method_named(std::string_view name) {
    for (int i = 0; const MethodInfo& method : method_rows) {
        if (method.name == name) return static_cast<Method>(i);
        ++i;
    }
    throw std::logic_error("rootmap has no method " + std::string(name));
}

double instructions_of(const Problem& problem) {
    constexpr double for_one_in_double_double = 20;
    const MethodInfo& method = info(problem.method);
    const double derivative = problem.want_distance ? 6 : 0;
    const double instructions =
        method.instructions + derivative + method.instructions_per_degree * problem.polynomial.degree;
    // Points are followed one by one, not in SIMD lanes.
    if (problem.precision == Precision::Perturbation) return 8 * (30 + derivative);
    return problem.precision == Precision::DoubleDouble ? for_one_in_double_double * instructions
                                                        : instructions;
}

double core_cycles_of(const Problem& problem) {
    if (problem.precision == Precision::Perturbation || problem.precision == Precision::DoubleDouble)
        return 0;
    const MethodInfo& method = info(problem.method);
    const double derivative = problem.want_distance ? 1.4 : 0;
    return method.cycles + derivative + method.cycles_per_degree * problem.polynomial.degree;
}

}  // namespace voltpile::rootmap
