#include "comm/mpi/launch_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "base/kernel_files.h"

namespace voltpile {
namespace {

using Environment = std::map<std::string, std::string>;

int number(const Environment& environment, const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? 0 : std::atoi(found->second.c_str());
}

bool starts_any(const Environment& environment, std::string_view prefix) {
    const auto first = environment.lower_bound(std::string(prefix));
    return first != environment.end() && first->first.starts_with(prefix);
}

bool is_launcher(std::string_view name) {
    static constexpr std::array<std::string_view, 6> known{"mpirun", "mpiexec",   "orterun",
                                                           "orted",  "hydra_pmi", "prterun"};
    return std::ranges::any_of(known, [&](std::string_view word) { return name.starts_with(word); });
}

std::string pmi_launcher(const Environment& environment, const std::vector<std::string>& ancestors) {
    if (starts_any(environment, "I_MPI_")) return "Intel MPI's mpiexec";
    if (starts_any(environment, "MV2_")) return "MVAPICH's launcher";
    const bool hydra =
        std::ranges::any_of(ancestors, [](const auto& name) { return name.starts_with("hydra"); });
    if (hydra || starts_any(environment, "HYDI_")) return "MPICH's mpiexec";
    return "";
}

Environment environment_of_this_process() {
    Environment out;
    for (char** entry = environ; entry && *entry; ++entry) {
        const std::string_view text = *entry;
        const auto equals = text.find('=');
        if (equals != std::string_view::npos) out.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return out;
}

Launch launch_of_this_process() {
    std::vector<std::string> names;
    for (const Ancestor& ancestor : ancestors_of_this_process()) names.push_back(ancestor.name);
    return read_launch(environment_of_this_process(), names);
}

std::string what_to_do(const Launch& launch, const MpiLibrary& library) {
    if (launch.slurm_step)
        return fmt::format(
            "use srun --mpi=pmix (srun --mpi=list says whether this Slurm has it), or {} inside the "
            "allocation",
            library.launcher.empty() ? library.name + "'s mpirun" : library.launcher);
    if (library.launcher.empty()) return fmt::format("use the mpirun of {}", library.name);
    return fmt::format("use {} ({}'s)", library.launcher, library.name);
}

std::string started_by(const Launch& launch) {
    if (launch.size > 1)
        return fmt::format("started by {} as one of {} processes", launch.launcher, launch.size);
    return "started by " + launch.launcher;
}

}  // namespace

Launch read_launch(const Environment& environment, const std::vector<std::string>& ancestors) {
    Launch launch;
    launch.over_pmix = environment.contains("PMIX_NAMESPACE") || environment.contains("PMIX_RANK");
    // Check for srun last: mpirun inside an allocation starts its daemons by srun, so Slurm's variables are
    // set too.
    if (environment.contains("OMPI_COMM_WORLD_SIZE")) {
        const auto version = environment.find("OMPI_VERSION");  // since Open MPI 5
        launch.launcher = "mpirun of Open MPI";
        if (version != environment.end()) launch.launcher += " " + version->second;
        launch.size = number(environment, "OMPI_COMM_WORLD_SIZE");
        return launch;
    }
    launch.over_pmi = environment.contains("PMI_SIZE") || environment.contains("PMI_RANK");
    launch.size = number(environment, "PMI_SIZE");
    launch.over_flux = environment.contains("FLUX_JOB_ID");
    if (launch.over_pmi) launch.launcher = pmi_launcher(environment, ancestors);
    if (!launch.launcher.empty()) return launch;
    if (launch.over_flux) {
        launch.launcher = "flux";
    } else if (environment.contains("SLURM_STEP_ID")) {
        launch.launcher = "srun";
        launch.slurm_step = true;
        launch.size = number(environment, "SLURM_STEP_NUM_TASKS");
    } else if (launch.over_pmi) {
        launch.launcher = "a launcher that speaks PMI";
    } else if (!launch.over_pmix) {
        const auto nearest = std::ranges::find_if(ancestors, is_launcher);
        if (nearest != ancestors.end()) launch.launcher = *nearest;
    }
    return launch;
}

std::string launch_problem(const Launch& launch, const MpiLibrary& library) {
    if (library.name != "Open MPI" || launch.launcher.empty() || launch.over_pmix || launch.over_flux)
        return "";
    if (launch.over_pmi && library.speaks_pmi && launch.slurm_step) return "";
    if (launch.launcher.starts_with("mpirun of Open MPI")) return "";
    if (launch.size == 1) return "";  // it needs no other process
    if (launch.slurm_step)
        return fmt::format("{} without PMIx, by which alone {} {} finds the other processes: {}",
                           started_by(launch), library.name, library.version, what_to_do(launch, library));
    return fmt::format("{}, but this voltpile was built with {} {}: each process would run alone; {}",
                       started_by(launch), library.name, library.version, what_to_do(launch, library));
}

std::string size_problem(const Launch& launch, const MpiLibrary& library, int size) {
    if (size >= launch.size) return "";
    return fmt::format("{}, but {} {}, with which this voltpile was built, found only {} of them; {}",
                       started_by(launch), library.name, library.version, size, what_to_do(launch, library));
}

void set_up_alone() {
    setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
    setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
    setenv("OMPI_MCA_pml", "ob1", 0);
    setenv("OMPI_MCA_btl", "self", 0);
}

void check_launcher() {
    const Launch launch = launch_of_this_process();
    if (launch.launcher.empty()) return;
    const MpiLibrary library = mpi_library();
    if (const std::string problem = launch_problem(launch, library); !problem.empty())
        throw MachineError(problem);
    const bool findable = launch.over_pmix || launch.over_flux || (launch.over_pmi && library.speaks_pmi);
    if (launch.size == 1 && !findable) {
        unsetenv("SLURM_STEP_ID");  // Open MPI recognizes srun by it
        set_up_alone();
    }
}

void check_world_size(int size) {
    const Launch launch = launch_of_this_process();
    if (launch.size <= size) return;
    throw MachineError(size_problem(launch, mpi_library(), size));
}

}  // namespace voltpile
