#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <memory>
#include <set>
#include <span>

#include "base/build_info.h"
#include "base/cache_folder.h"
#include "base/text_table.h"
#include "cli/command.h"
#include "cli/measure_run.h"
#include "cli/process_rank.h"
#include "device/device.h"
#include "llm/bench/llm_rates.h"
#include "machine/probe.h"
#include "plan/calibration.h"
#include "results/parts/durable_file.h"
#include "run/agreement.h"
#include "run/discover_topology.h"
#include "threebody/cpu_rate.h"
#include "threebody/methods.h"
#if VOLTPILE_CUDA
#include "threebody/gpu_rate.h"
#endif

namespace voltpile::cli {
namespace {

namespace fs = std::filesystem;

struct CalibrateArguments {
    bool print = false;
    bool clear = false;
};

MachineIdentity identity_of(const Host& host) {
    return {host.name, host.cpu_name};
}

fs::path file_of(const MachineIdentity& machine) {
    const fs::path folder = default_cache_folder();
    if (folder.empty())
        throw MachineError("there is no folder for the calibration: neither XDG_CACHE_HOME nor HOME is set");
    return folder / calibration_name(machine);
}

// Prints each rate as soon as it is known, because measuring takes half a minute.
class RateList {
  public:
    void add(const MeasuredRate& rate) {
        rates_.push_back(rate);
        fmt::print("{:<28} {:>10.4g} /s  {}\n", rate.work, rate.per_s,
                   rate.processor.empty() ? "a core" : rate.processor);
        std::fflush(stdout);
    }
    void add(const std::vector<MeasuredRate>& rates) {
        for (const MeasuredRate& rate : rates) add(rate);
    }
    const std::vector<MeasuredRate>& rates() const { return rates_; }

  private:
    std::vector<MeasuredRate> rates_;
};

// Calls measure(method, single precision) for every rate of the three-body app.
template <class Measure>
void measure_methods(RateList& list, const std::string& processor, const Measure& measure) {
    for (const threebody::MethodInfo& method : threebody::methods())
        for (const bool single : {false, true}) {
            if (single && method.adaptive) continue;
            const threebody::Method number = threebody::method_named(method.name);
            list.add({threebody::measured_rate_name(number, single), processor, measure(number, single)});
        }
}

// Measures one GPU of each model.
void measure_gpus(RateList& list) {
#if VOLTPILE_CUDA
    std::set<std::string> known;
    for (int device = 0; device < device_count(); ++device) {
        const DeviceInfo info = device_info(device);
        if (!known.insert(info.name).second) continue;
        use_device(device);
        measure_methods(list, info.name, [&](threebody::Method method, bool single) {
            return threebody::measure_gpu_rate(method, single, info);
        });
    }
#else
    static_cast<void>(list);
#endif
}

void measure_cores(RateList& list, const Host& host) {
    std::vector<int> pus;
    for (const Core& core : host.cores) pus.push_back(core.pu);
    measure_methods(list, "", [&](threebody::Method method, bool single) {
        return threebody::measure_core_rate(method, single, pus);
    });
}

// Of runs on the cores and on the first GPU.
std::vector<MeasuredRate> measure_runs() {
    const fs::path place = file_of(identity_of(read_this_host())).parent_path();
    create_folders(place);
    std::vector<MeasuredRate> rates = measure_run(place, "cpu", "");
    if (device_count() > 0)
        for (MeasuredRate& rate : measure_run(place, "gpu", device_info(0).name))
            rates.push_back(std::move(rate));
    return rates;
}

ExitCode measure_machine(const MpiSession& mpi, const std::vector<MeasuredRate>& of_runs) {
    const Host host = read_this_host();
    const MachineIdentity machine = identity_of(host);
    const fs::path file = file_of(machine);
    create_folders(file.parent_path());
    const NodeGpus node = device_count() > 0 ? probe_gpus() : NodeGpus{};
    RateList list;
    list.add(of_runs);
    measure_gpus(list);
    measure_cores(list, host);
    list.add(llm::measure_llm_rates(mpi, false));
    if (device_count() > 0 && device_info(0).memory_bytes >= llm::kLeastCalibrationBytes)
        list.add(llm::measure_llm_rates(mpi, true));
    const std::string now = fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(std::time(nullptr)));
    const std::string text = to_toml({machine, now, build_info().version, node.driver_version, list.rates()});
    const fs::path temporary = temporary_name(file);
    write_temporary(temporary, std::as_bytes(std::span(text)), file);
    publish_file(temporary, file);
    fmt::print("-> {}\n", file.string());
    return ExitCode::Done;
}

ExitCode print_calibration(const MachineIdentity& machine) {
    const KnownRates known = load_rates(default_cache_folder(), machine, build_info().version);
    if (!known.problem.empty()) spdlog::warn("{}", known.problem);
    if (known.origin.empty()) {
        fmt::print("this machine is not calibrated: `voltpile calibrate` does it\n");
        return ExitCode::Done;
    }
    fmt::print("{}\ncalibrated on {}\n", file_of(machine).string(), known.origin);
    std::vector<TextRow> rows{{"work", "per second", "on"}};
    for (const MeasuredRate& rate : known.rates)
        rows.push_back({rate.work, fmt::format("{:.4g}", rate.per_s),
                        rate.processor.empty() ? "a core" : rate.processor});
    fmt::print("{}", text_table(rows, {1}));
    return ExitCode::Done;
}

ExitCode clear_calibration(const MachineIdentity& machine) {
    const fs::path file = file_of(machine);
    std::error_code error;
    const bool removed = fs::remove(file, error);
    if (error) throw FileError("remove", file.string(), error.value());
    fmt::print("{}\n", removed ? "removed " + file.string() : "this machine is not calibrated");
    return ExitCode::Done;
}

// The models need MPI, even alone. Runs are measured before it starts, and not from within a launcher's.
ExitCode calibrate(const Invocation& invocation) {
    std::vector<MeasuredRate> of_runs;
    if (!launcher_rank()) of_runs = measure_runs();
    return with_mpi(invocation, [&](const MpiSession& mpi) {
        if (mpi.world().size() > 1)
            throw_agreed(ExitCode::BadInput,
                         "calibrate measures the machine it runs on: start one process, without mpirun");
        return measure_machine(mpi, of_runs);
    });
}

}  // namespace

void add_calibrate(CLI::App& cli, Action& action) {
    CLI::App* command = cli.add_subcommand(
        "calibrate", "measure this machine once, for the estimates of plans; takes about half a minute");
    auto args = std::make_shared<CalibrateArguments>();
    CLI::Option* print = command->add_flag("--print", args->print, "print what was measured before");
    command->add_flag("--clear", args->clear, "forget what was measured")->excludes(print);
    command->footer(
        "examples:\n"
        "  voltpile calibrate\n"
        "  voltpile calibrate --print\n\n"
        "The rates are kept in $XDG_CACHE_HOME/voltpile or ~/.cache/voltpile, one file for each machine.");
    command->callback([args, &action] {
        const auto alone = [args](const Invocation&) {
            const MachineIdentity machine = identity_of(read_this_host());
            return args->print ? print_calibration(machine) : clear_calibration(machine);
        };
        action = args->print || args->clear ? on_first_rank(alone) : Action(calibrate);
    });
}

}  // namespace voltpile::cli
