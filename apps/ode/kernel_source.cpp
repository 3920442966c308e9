#include "ode/kernel_source.h"

#include <fmt/format.h>

#include "ode/point_source.h"

namespace voltpile::ode {

KernelShape kernel_shape(const Problem& problem) {
    constexpr double operations = 8192;  // between two looks
    KernelShape shape;
    shape.steps_at_once = 64;
    while (shape.steps_at_once > 4 && shape.steps_at_once * problem.operations_per_step > operations)
        shape.steps_at_once /= 2;
    return shape;
}

KernelSource kernel_source(const Problem& problem, const KernelShape& shape) {
    KernelSource source;
    source.text = fmt::format(
        "#include \"ode/gpu_lane.cuh\"\n\nnamespace voltpile::ode {{\ninline namespace VOLTPILE_TARGET {{\n\n"
        "{}\n}}  // namespace VOLTPILE_TARGET\n}}  // namespace voltpile::ode\n",
        point_source(problem));
    source.headers = kernel_headers();
    source.kernel =
        fmt::format("voltpile::sweep_kernel<voltpile::ode::PointLane<voltpile::ode::Equations, {}>, {}>",
                    shape.steps_at_once, shape.threads);
    return source;
}

}  // namespace voltpile::ode
