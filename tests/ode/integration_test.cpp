// Trajectories against closed forms and published numbers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "ode/run_job.h"

namespace voltpile::ode::testing {
namespace {

const std::string kOscillator =
    "[initial]\nx = 1\nv = 0\n[equations]\ndx = \"v\"\ndv = \"-x\"\n[outputs]\na = \"x\"\nb = \"v\"\n";
const std::string kLorenz =
    "[parameters]\nsigma = 10\nrho = 28\nbeta = 2.6666666666666665\n[initial]\nx = 1\ny = 1\nz = 1\n"
    "[equations]\ndx = \"sigma*(y - x)\"\ndy = \"x*(rho - z) - y\"\ndz = \"x*y - beta*z\"\n"
    "[outputs]\na = \"x\"\nb = \"y\"\nc = \"z\"\n";

int status(Status status, int event = 0) {
    return static_cast<int>(status) + event;
}

double error_of_oscillator(const std::string& integrate) {
    const Outcome outcome = run(kOscillator + "[integrate]\nt_end = 10\n" + integrate).at(0);
    EXPECT_EQ(outcome.status, status(Status::End));
    EXPECT_EQ(outcome.t_final, 10);
    return std::hypot(outcome.outputs[0] - std::cos(10.0), outcome.outputs[1] + std::sin(10.0));
}

TEST(OdeIntegration, Rk4ConvergesWithOrderFour) {
    const double coarse = error_of_oscillator("method = \"rk4\"\ndt = 0.1\n");
    const double fine = error_of_oscillator("method = \"rk4\"\ndt = 0.05\n");
    // The leading error of RK4 on x'' = -x is t h^4 / 120.
    EXPECT_NEAR(coarse, 10 * 1e-4 / 120, 0.05 * coarse);
    EXPECT_NEAR(coarse / fine, 16, 0.5);
}

TEST(OdeIntegration, DopriMeetsItsTolerance) {
    // The global error is of the size of the tolerance times the time: a factor of 100 leaves room.
    for (const double tolerance : {1e-6, 1e-9, 1e-12})
        EXPECT_LT(error_of_oscillator("method = \"dopri5\"\ntolerance = " + std::to_string(tolerance * 1e12) +
                                      "e-12\nabsolute_tolerance = 1e-14\n"),
                  100 * tolerance);
}

TEST(OdeIntegration, ShortensStepsThatDoNotDivideTheTime) {
    const Outcome outcome = run(kOscillator + "[integrate]\nmethod = \"rk4\"\nt_end = 1\ndt = 0.3\n").at(0);
    EXPECT_EQ(outcome.steps, 4);
    EXPECT_EQ(outcome.t_final, 1);
    EXPECT_NEAR(outcome.outputs[0], std::cos(1.0), 0.25 * 0.25 * 0.25 * 0.25);
}

// The same formulas written out, each sum with a product rounded as on this level.
TEST(OdeIntegration, Rk4OfLorenzHasTheBitsOfAPlainLoop) {
    for (const CpuLevel level : usable_cpu_levels()) {
        const auto fused = [level](double a, double b, double c) {
            return has_fma(level) ? std::fma(a, b, c) : a * b + c;
        };
        double s[3] = {1, 1, 1};
        const double h = 0.01;
        const auto f = [fused](const double(&y)[3], double(&d)[3]) {
            d[0] = 10.0 * (y[1] - y[0]);
            d[1] = fused(y[0], 28.0 - y[2], -y[1]);
            d[2] = fused(-2.6666666666666665, y[2], y[0] * y[1]);
        };
        for (int n = 0; n < 1000; ++n) {
            double k[4][3], y[3];
            f(s, k[0]);
            for (int i = 0; i < 3; ++i) y[i] = fused(0.5 * h, k[0][i], s[i]);
            f(y, k[1]);
            for (int i = 0; i < 3; ++i) y[i] = fused(0.5 * h, k[1][i], s[i]);
            f(y, k[2]);
            for (int i = 0; i < 3; ++i) y[i] = fused(h, k[2][i], s[i]);
            f(y, k[3]);
            for (int i = 0; i < 3; ++i)
                s[i] = fused(h / 6, fused(2, k[1][i] + k[2][i], k[0][i] + k[3][i]), s[i]);
        }
        const Outcome outcome =
            run(kLorenz + "[integrate]\nmethod = \"rk4\"\ndt = 0.01\nt_end = 10\n", {}, level).at(0);
        for (int i = 0; i < 3; ++i) EXPECT_EQ(outcome.outputs[i], s[i]) << i << name(level);
    }
}

TEST(OdeIntegration, FindsTheTimeOfAnEvent) {
    // A body falls from 10 m with friction: y = 10 - (g/c) t + (g/c^2) (1 - e^(-ct)).
    const std::string fall =
        "[parameters]\ng = 9.81\nc = 0.3\n[initial]\ny = 10\nv = 0\n[equations]\ndy = \"v\"\n"
        "dv = \"-g - c*v\"\n[stop]\nground = \"y <= 0\"\n[outputs]\nheight = \"y\"\n";
    double t = 1.5;
    for (int i = 0; i < 50; ++i) {
        const double e = std::exp(-0.3 * t);
        t -= (10 - 9.81 / 0.3 * t + 9.81 / 0.09 * (1 - e)) / (-9.81 / 0.3 + 9.81 / 0.3 * e);
    }
    for (const char* const how :
         {"method = \"dopri5\"\ntolerance = 1e-12\n", "method = \"rk4\"\ndt = 0.01\n"}) {
        const Outcome outcome = run(fall + "[integrate]\nt_end = 9\n" + how).at(0);
        EXPECT_EQ(outcome.status, status(Status::FirstEvent));
        EXPECT_NEAR(outcome.t_final, t, 1e-10) << how;
        EXPECT_LE(outcome.outputs[0], 0);
        EXPECT_NEAR(outcome.outputs[0], 0, 1e-12);
    }
}

TEST(OdeIntegration, FirstEventEndsThePoint) {
    const std::string race =
        "[parameters]\nv = 1\n[initial]\nx = 0\n[equations]\ndx = \"v\"\n[stop]\n"
        "left = \"x < -1\"\nlate = \"t > 5\"\nright = \"x > 2\"\n"
        "[[sweep]]\nparameter = \"v\"\nfrom = -1\nto = 1\ncount = 5\nendpoint = true\n";
    for (const char* const how : {"method = \"dopri5\"\n", "method = \"rk4\"\ndt = 0.7\n"}) {
        const std::vector<Outcome> at = run(race + "[integrate]\nt_end = 10\n" + how);
        const int expected[] = {1, 1, 0, 2, 2};
        const double times[] = {1, 2, 5, 4, 2};
        for (std::size_t i = 0; i < 5; ++i) {
            EXPECT_EQ(at[i].status, status(Status::FirstEvent, expected[i])) << i << how;
            EXPECT_NEAR(at[i].t_final, times[i], 1e-12) << i << how;
        }
    }
}

TEST(OdeIntegration, EventAtTheStartEndsAtOnce) {
    const Outcome outcome =
        run(kOscillator + "[stop]\nthere = \"x > 0.5\"\n[integrate]\nmethod = \"rk4\"\ndt = 0.1\nt_end = 1\n")
            .at(0);
    EXPECT_EQ(outcome.status, status(Status::FirstEvent));
    EXPECT_EQ(outcome.t_final, 0);
    EXPECT_EQ(outcome.outputs[0], 1);
}

// x' = x^2 from 1 is 1 / (1 - t).
TEST(OdeIntegration, FlagsBlowUp) {
    const std::string blow_up = "[initial]\nx = 1\n[equations]\ndx = \"x^2\"\n[integrate]\nt_end = 2\n";
    const Outcome adaptive = run(blow_up + "method = \"dopri5\"\n").at(0);
    EXPECT_EQ(adaptive.status, status(Status::StepTooSmall));
    EXPECT_NEAR(adaptive.t_final, 1, 1e-6);
    const Outcome fixed = run(blow_up + "method = \"rk4\"\ndt = 0.01\n").at(0);
    EXPECT_EQ(fixed.status, status(Status::NotFinite));
    EXPECT_TRUE(std::isfinite(fixed.outputs[0]));
    EXPECT_LT(fixed.t_final, 1.2);
    const Outcome spent = run(blow_up + "method = \"dopri5\"\nmax_steps = 5\n").at(0);
    EXPECT_EQ(spent.status, status(Status::MaxSteps));
    EXPECT_EQ(spent.steps, 5);
}

TEST(OdeIntegration, FlagsOutputsThatAreNotFinite) {
    const Outcome outcome = run("[initial]\nx = 1\n[equations]\ndx = \"-x\"\n[outputs]\nbad = \"log(-x)\"\n"
                                "[integrate]\nmethod = \"rk4\"\ndt = 0.1\nt_end = 1\n")
                                .at(0);
    EXPECT_EQ(outcome.status, status(Status::NotFinite));
}

// Circular restricted problem of three bodies: the orbit of Arenstorf with
// period 17.0652165601579625588917206249 (E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential
// Equations I, II.0).
TEST(OdeIntegration, ClosesArenstorfsOrbit) {
    const JobSpec job = load_job(
        VOLTPILE_SOURCE_DIR "/jobs/ode/restricted_three_body.toml",
        std::vector<std::string>{
            "parameters.mu=0.012277471", "initial.x=0.994", "initial.y=0.0", "initial.vx=0.0",
            "initial.vy=-2.00158510637908252240537862224", "integrate.t_end=17.0652165601579625588917206249",
            "integrate.tolerance=1e-13", "integrate.absolute_tolerance=1e-13", "stop.moon=\"t < -1\"",
            "stop.earth=\"t < -1\"", "stop.far=\"t < -1\"", "outputs={a = \"x\", b = \"y\"}", "sweep=[]"},
        std::vector<AppSchema>{ode_schema()});
    const JobProblem problem(job);
    AllPoints points(1);
    sweep_on_this_thread(CpuLevel::Baseline, problem.problem(), points);
    EXPECT_EQ(points.outcomes[0].status, status(Status::End));
    EXPECT_NEAR(points.outcomes[0].outputs[0], 0.994, 1e-5);  // the orbit multiplies errors by about 1e6
    EXPECT_NEAR(points.outcomes[0].outputs[1], 0, 1e-5);
}

// J. C. Sprott, Chaos and Time-Series Analysis (2003): 0.9056.
TEST(OdeIntegration, FindsTheLyapunovExponentOfLorenz) {
    for (const char* const how :
         {"method = \"rk4\"\ndt = 0.01\n", "method = \"dopri5\"\ntolerance = 1e-6\n"}) {
        const Outcome outcome =
            run(kLorenz + "[integrate]\nlyapunov = true\nlyapunov_from = 50\nt_end = 4050\n" + how).at(0);
        EXPECT_EQ(outcome.status, status(Status::End));
        EXPECT_NEAR(outcome.lyapunov, 0.9056, 0.01) << how;  // it settles as 1 / sqrt(time)
    }
}

TEST(OdeIntegration, LyapunovExponentOfALinearSystemIsItsLargestEigenvalue) {
    const std::string linear =
        "[initial]\nx = 1\ny = 0\n[equations]\ndx = \"-x + 2*y\"\ndy = \"-3*y\"\n"
        "[integrate]\nlyapunov = true\nlyapunov_from = 30\nt_end = 40\n";
    for (const char* const how : {"method = \"rk4\"\ndt = 0.01\n", "method = \"dopri5\"\n"})
        EXPECT_NEAR(run(linear + how).at(0).lyapunov, -1, 1e-6) << how;
}

// Levels without fused multiply-add round more often.
TEST(OdeIntegration, EveryLevelAndOrderOfPointsGivesTheSameBits) {
    const std::string pendulum =
        "[parameters]\nq = 0.5\nw = 0.6666\nf = 1.15\n[initial]\nth = 0.2\nom = 0\n"
        "[equations]\ndth = \"om\"\ndom = \"-q*om - sin(th) + f*cos(w*t) + 0.01*tanh(th) + exp(-th^2)\"\n"
        "[stop]\nover = \"abs(th) > 3*pi\"\n"
        "[[sweep]]\nparameter = \"f\"\nfrom = 0.2\nto = 3\ncount = 203\nendpoint = true\n"
        "[integrate]\nt_end = 40\nmethod = \"dopri5\"\ntolerance = 1e-8\n";
    const std::vector<CpuLevel> levels = usable_cpu_levels();
    const std::vector<Outcome> expected = run(pendulum, {}, levels.front());
    for (const CpuLevel level : levels) {
        if (has_fma(level) != has_fma(levels.front())) continue;
        const std::vector<Outcome> got = run(pendulum, {}, level);
        EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(Outcome)), 0) << name(level);
    }
    // Alone, a point has the same neighbors in no lane.
    const double f = 0.2 + (3 - 0.2) * 100 / 202;
    const Outcome alone =
        run(pendulum, {"sweep=[]", fmt::format("parameters.f={:.17g}", f)}, levels.front()).at(0);
    EXPECT_EQ(std::memcmp(&alone, &expected[100], sizeof alone), 0);
}

}  // namespace
}  // namespace voltpile::ode::testing
