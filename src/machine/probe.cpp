#include "machine/probe.h"

#include <fmt/format.h>

#include "base/companion_program.h"
#include "base/error.h"
#include "base/process.h"
#include "machine/node_json.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;

NodeGpus without_gpus(std::string problem, bool hung = false) {
    NodeGpus node;
    node.problem = std::move(problem);
    node.hung = hung;
    return node;
}

std::string first_line_of(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

}  // namespace

fs::path probe_program() {
    return companion_program("voltpile-probe");
}

NodeGpus probe_gpus(std::chrono::milliseconds deadline) {
    try {
        const ProcessResult result = run_process({{probe_program().string()}, "", {}, deadline});
        if (result.timed_out)
            return without_gpus(fmt::format("the NVIDIA driver hangs: no answer in {:.3g} s",
                                            std::chrono::duration<double>(deadline).count()),
                                true);
        if (!result.succeeded())
            return without_gpus(fmt::format("voltpile-probe failed with exit code {}: {}", result.exit_code,
                                            first_line_of(result.err)));
        return sample_from_json(result.out).gpus;
    } catch (const Error& error) {
        return without_gpus(error.what());
    }
}

}  // namespace voltpile
