// voltpile-probe: reads the GPUs of this node and writes them to stdout as a line of JSON. Voltpile runs it
// as a process of its own, because a call into a hung driver never returns (src/machine/probe.h).
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "base/error.h"
#include "machine/gpu_json.h"
#include "machine/nvml.h"
#include "machine/read_gpus.h"

namespace {

using namespace voltpile;

NodeGpus read_all() {
    try {
        const Nvml nvml;
        return read_gpus(nvml, GpuReading::Everything);
    } catch (const MachineError& error) {
        NodeGpus none;
        none.problem = error.what();
        return none;
    }
}

}  // namespace

int main(int argc, char**) {
    try {
        if (argc > 1) {
            std::fputs("voltpile-probe has no arguments: Voltpile runs it to read this node's GPUs\n",
                       stderr);
            return static_cast<int>(ExitCode::BadInput);
        }
        const std::string line = to_json(read_all()) + "\n";
        return std::fputs(line.c_str(), stdout) >= 0 && std::fflush(stdout) == 0 ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return static_cast<int>(ExitCode::Failed);
    }
}
