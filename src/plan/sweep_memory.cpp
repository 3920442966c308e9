#include "plan/sweep_memory.h"

namespace voltpile {

std::int64_t sweep_host_bytes(const Workload& work, std::int64_t points, double range_points, CudaUse cuda) {
    const double longest =
        std::min({range_points, static_cast<double>(points), static_cast<double>(work.largest_range())});
    const auto copies =
        static_cast<std::int64_t>(static_cast<double>(kResultCopies * work.bytes_per_point) * longest);
    if (cuda == CudaUse::None) return kProgramBytes + copies;
    if (cuda == CudaUse::Libraries || !work.gpu_state_bytes)
        return kProgramBytes + kCudaLibrariesHostBytes + copies;
    const std::int64_t pinned =
        kGpuRangesInFlight * prepared_gpu_points(points, work.bytes_per_point) * work.bytes_per_point;
    return kProgramBytes + kCudaSweepHostBytes + copies + pinned;
}

std::int64_t sweep_gpu_bytes(const Workload& work, std::int64_t points) {
    if (!work.gpu_state_bytes) return 0;
    return kCudaSweepGpuBytes + work.gpu_table_bytes +
           kGpuRangesInFlight * prepared_gpu_points(points, work.bytes_per_point) *
               (work.bytes_per_point + *work.gpu_state_bytes);
}

}  // namespace voltpile
