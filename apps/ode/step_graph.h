// Builds one step of an integrator, with everything around it, as expressions of registers.
#pragma once

#include <utility>
#include <vector>

#include "ode/model.h"
#include "ode/problem.h"

namespace voltpile::ode {

struct Integration {
    bool adaptive = false;
    double t_begin = 0, t_end = 1;
    double dt = 0;
    double whole_steps = 0;  // of fixed steps
    double max_steps = 0;
    double tolerance = 0, absolute_tolerance = 0;
    bool lyapunov = false;
    double lyapunov_from = 0;
};

// The programs of a model with the registers that they use.
struct System {
    Problem problem;  // points to the members below; its sources are not set
    Program setup, start, step, outputs;
    std::vector<ConstantRegister> constants;
    int first_parameter = 0;  // register of the first parameter

    // Points the problem to this object's members.
    void connect();
};

// Throws JobError if the model is too large.
System make_system(Model& model, const Integration& integration);

}  // namespace voltpile::ode
