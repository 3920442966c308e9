# The headers that kernels compiled at run time include become part of the program. Changing one configures again.
# NVRTC has no standard library: cstdint and cstddef are what these headers need of it.
set(VOLTPILE_ODE_KERNEL_HEADERS "        {\"cstdint\", R\"header(#pragma once
namespace std {
using int32_t = int;
using uint32_t = unsigned;
using int64_t = long;
using uint64_t = unsigned long;
}
)header\"},
        {\"cstddef\", R\"header(#pragma once
namespace std {
using size_t = decltype(sizeof(0));
enum class byte : unsigned char {};
}
)header\"},
")
foreach(name src/sweep/portable.h src/sweep/select.h src/sweep/sine.h src/sweep/square_root.h src/sweep/parameter_source.h
             src/sweep/gpu_range.h src/sweep/gpu_packing.cuh src/sweep/gpu_lanes.cuh src/sweep/gpu_outcome.cuh
             apps/ode/functions.h apps/ode/outcome.h apps/ode/quick_math.h apps/ode/point_motion.h apps/ode/gpu_lane.cuh)
  set(file ${PROJECT_SOURCE_DIR}/${name})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  string(REGEX REPLACE "^(src|apps)/" "" name ${name})
  string(APPEND VOLTPILE_ODE_KERNEL_HEADERS "        {\"${name}\", R\"header(${text})header\"},\n")
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/kernel_headers.cpp.in ${PROJECT_BINARY_DIR}/generated/ode_kernel_headers.cpp @ONLY)
target_sources(voltpile_app_ode PRIVATE ${PROJECT_BINARY_DIR}/generated/ode_kernel_headers.cpp)
