#include "base/build_info.h"

#include <fmt/format.h>

#include "generated/build_config.h"
#include "generated/git_revision.h"

namespace voltpile {

BuildInfo build_info() {
    return {build_config::version, git_revision,           build_config::cuda,      build_config::nccl,
            build_config::ucx,     build_config::compiler, build_config::build_type};
}

std::string to_text(const BuildInfo& info) {
    return fmt::format(
        "voltpile {} (git {})\n"
        "CUDA {}, NCCL {}, UCX {}; {}, {}\n"
        "Licensed under the Apache License 2.0",
        info.version, info.git_revision, info.cuda, info.nccl, info.ucx, info.compiler, info.build_type);
}

}  // namespace voltpile
