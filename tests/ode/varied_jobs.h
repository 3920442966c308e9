// Jobs that together use everything that points on a GPU do otherwise than on a core.
#pragma once

#include <string>
#include <vector>

#include "ode/run_job.h"

namespace voltpile::ode::testing {

struct VariedJob {
    const char* name;
    std::string text;
};

inline const std::string kLorenzEquations =
    "[parameters]\nsigma = 10\nrho = 28\nbeta = 2.6666666666666665\n[initial]\nx = 1\ny = 1\nz = 1\n"
    "[equations]\ndx = \"sigma*(y - x)\"\ndy = \"x*(rho - z) - y\"\ndz = \"x*y - beta*z\"\n";
inline const std::string kSweepRho = "[[sweep]]\nparameter = \"rho\"\nfrom = 0\nto = 60\ncount = 19\n";
inline const std::string kSweepX = "[[sweep]]\nparameter = \"initial.x\"\nfrom = -3\nto = 3\ncount = 17\n";

inline std::vector<VariedJob> varied_jobs() {
    const std::string rk4 = "[integrate]\nmethod = \"rk4\"\ndt = 0.01\nt_end = 2\n";
    const std::string dopri5 = "[integrate]\nmethod = \"dopri5\"\nt_end = 2\ntolerance = 1e-7\n";
    const std::string falls =
        "[parameters]\ng = 1\ndrag = 0.1\n[initial]\nx = 0\nv = 1\n[equations]\ndx = \"v\"\n"
        "dv = \"-g - drag*v*abs(v)\"\n"
        "[[sweep]]\nparameter = \"initial.v\"\nfrom = -1\nto = 2\ncount = 13\n"
        "[[sweep]]\nparameter = \"g\"\nfrom = 0.2\nto = 3\ncount = 7\n";
    const std::string lands = "[stop]\nground = \"x < -0.1\"\nhigh = \"x > 0.4\"\n";
    const std::string late = "late = \"t > 0.7\"\n";
    // Holds at the start of some points, and no longer after a step.
    const std::string fast = "[stop]\nfast = \"v > 0.99\"\n";
    const std::string driven =
        "[parameters]\nw = 1.3\na = 0.4\n[initial]\nx = 0.1\nv = 0\n[equations]\ndx = \"v\"\n"
        "dv = \"a*cos(w*t) - sin(x) - 0.2*v\"\n[outputs]\nturns = \"floor(x/(2*pi))\"\nx_end = \"x\"\n"
        "late = \"t - 1\"\n" +
        kSweepX;
    const std::string blows = "[initial]\nx = 1\n[equations]\ndx = \"x^3\"\n" + kSweepX;
    // Every function of expressions.
    const std::string functions =
        "[parameters]\np = 0.7\n[initial]\nx = 0.3\ny = 0.9\n[define]\n"
        "many = \"sin(x) + cos(y) + tan(0.3*x) + atan(x*y) + atan2(y, x) + sinh(0.1*x) + cosh(0.2*y) + "
        "tanh(x)\"\n"
        "more = \"exp(-abs(x)) + log(1 + x^2) + sqrt(1 + y^2) + abs(x)^p + pow(2, 0.3*y) + sign(x) + "
        "floor(3*x)\"\n"
        "rest = \"mod(x, 0.7) + min(x, y, p) + max(x, -y) + where(x > y, x, -y) + asin(0.5*tanh(x)) + "
        "acos(0.5*p)\"\n"
        "[equations]\ndx = \"0.1*many - 0.2*x\"\ndy = \"0.1*more - 0.1*rest - y/(2 + x^2)\"\n"
        "[outputs]\na = \"many\"\nb = \"more\"\nc = \"rest\"\nroot = \"sqrt(x)\"\n" +
        kSweepX + "[[sweep]]\nparameter = \"p\"\nfrom = 0.1\nto = 1.5\ncount = 11\n";
    return {
        {"rk4", kLorenzEquations + rk4 + kSweepRho + kSweepX},
        {"rk4, no sweep", kLorenzEquations + rk4},
        {"dopri5", kLorenzEquations + dopri5 + kSweepRho + kSweepX},
        {"rk4, Lyapunov exponent",
         kLorenzEquations + rk4 + "lyapunov = true\nlyapunov_from = 0.5\n" + kSweepRho},
        {"dopri5, Lyapunov exponent", kLorenzEquations + dopri5 + "lyapunov = true\n" + kSweepRho},
        {"rk4, events", falls + lands + late + rk4},
        {"rk4, events that do not read the time", falls + lands + rk4},
        {"rk4, an event at the start", falls + fast + rk4},
        {"dopri5, events", falls + lands + late + dopri5},
        {"rk4, driven", driven + rk4},
        {"dopri5, driven", driven + dopri5 + "t_begin = -0.5\n"},
        {"rk4, too few steps", driven + rk4 + "max_steps = 50\n"},
        {"dopri5, too few steps", kLorenzEquations + dopri5 + "max_steps = 30\n" + kSweepRho},
        {"rk4, blows up", blows + rk4},
        {"dopri5, singular", blows + dopri5},
        {"rk4, all functions", functions + rk4},
        {"dopri5, all functions", functions + dopri5},
    };
}

// Returns a shipped job with so many points on each axis.
inline JobSpec shipped_job(const std::string& name, int count) {
    const std::string file = VOLTPILE_SOURCE_DIR "/jobs/ode/" + name + ".toml";
    static const std::vector<AppSchema> schemas{ode_schema()};  // jobs keep pointers to it
    const JobSpec whole = load_job(file, {}, schemas);
    std::vector<std::string> changes;
    for (const SweepAxis& axis : whole.axes())
        changes.push_back("sweep." + axis.name + ".count=" + std::to_string(count));
    return load_job(file, changes, schemas);
}

inline const std::vector<std::string> kShippedJobs = {
    "driven_pendulum", "duffing_basins", "fitzhugh_nagumo",      "lorenz",
    "lorenz_lyapunov", "three_bodies",   "restricted_three_body"};

}  // namespace voltpile::ode::testing
