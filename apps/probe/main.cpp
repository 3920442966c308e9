// voltpile-probe: reads this node's GPUs and writes lines of JSON to stdout. Voltpile runs it as a process of
// its own, because a call into a hung driver never returns (src/machine/probe.h).
//   voltpile-probe                one line with everything
//   voltpile-probe --every MS     a line with what has changed every MS milliseconds, until stdin is closed
//   voltpile-probe --set          sets power limits and clocks by a line on stdin (machine/gpu_settings.h)
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/unix_time.h"
#include "machine/gpu_sampler.h"
#include "machine/gpu_settings.h"
#include "machine/node_json.h"
#include "machine/nvml.h"
#include "machine/read_gpus.h"

namespace {

using namespace voltpile;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The driver, if there is one that answers.
struct Driver {
    Driver() {
        try {
            nvml.emplace();
        } catch (const MachineError& error) {
            problem = error.what();
        }
    }
    std::optional<Nvml> nvml;
    std::string problem;
};

bool print(const std::string& line) {
    return std::fputs((line + "\n").c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
}

// Returns false once the other end of stdin is closed.
bool sleep_until(steady_clock::time_point until) {
    for (;;) {
        const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now()).count();
        if (left <= 0) return true;
        pollfd input{STDIN_FILENO, POLLIN, 0};
        if (poll(&input, 1, static_cast<int>(left)) > 0) {
            char ignored[256];
            if (read(STDIN_FILENO, ignored, sizeof ignored) <= 0) return false;
        }
    }
}

bool print_everything() {
    const Driver driver;
    NodeSample sample;
    sample.gpus.problem = driver.problem;
    if (driver.nvml) sample.gpus = read_gpus(*driver.nvml, GpuReading::Everything);
    sample.time_s = unix_time();
    return print(to_json(sample));
}

// Returns when the sample after the one of `due` is due. A busy machine may have delayed that one: the next
// still is at least nine tenths of a period away.
steady_clock::time_point next_due(steady_clock::time_point due, milliseconds every) {
    return std::max(due + every, steady_clock::now() + 9 * every / 10);
}

int sample_every(milliseconds every) {
    const Driver driver;
    std::optional<GpuSampler> gpus;
    if (driver.nvml) gpus.emplace(*driver.nvml);
    NodeSample before;
    for (auto due = steady_clock::now();; due = next_due(due, every)) {
        if (!sleep_until(due)) return 0;
        NodeSample sample;
        sample.gpus.problem = driver.problem;
        sample.time_s = unix_time();
        if (gpus) sample.gpus = gpus->sample();
        if (!print(change_json(sample, before))) return 0;  // nobody reads
        before = std::move(sample);
    }
}

bool set_by_stdin() {
    std::string line;
    std::getline(std::cin, line);
    return print(to_json(set_gpus(Nvml(), settings_from_json(line))));
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const std::span<char*> arguments(argv + 1, static_cast<std::size_t>(argc - 1));
        if (arguments.empty()) return print_everything() ? 0 : 1;
        if (arguments.size() == 1 && std::string_view(arguments[0]) == "--set") return set_by_stdin() ? 0 : 1;
        const int every = arguments.size() == 2 ? std::atoi(arguments[1]) : 0;
        if (std::string_view(arguments[0]) == "--every" && every > 0)
            return sample_every(milliseconds(every));
        std::fputs(
            "usage: voltpile-probe [--every MILLISECONDS | --set]\n"
            "Voltpile runs it to read and to set the GPUs of this node.\n",
            stderr);
        return static_cast<int>(ExitCode::BadInput);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return static_cast<int>(ExitCode::Failed);
    }
}
