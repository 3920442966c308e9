#include "run/process_age.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace voltpile {

double process_age_s() {
    std::ifstream file("/proc/self/stat");
    std::string text;
    std::getline(file, text);
    // The name in parentheses may contain anything; the state, field 3, follows the last one.
    const std::size_t after_name = text.rfind(')');
    if (after_name == std::string::npos) return 0;
    std::istringstream fields(text.substr(after_name + 1));
    std::string skipped;
    for (int field = 3; field < 22; ++field) fields >> skipped;
    double ticks = 0;  // from the start of the machine to that of the process
    timespec now{};
    if (!(fields >> ticks) || clock_gettime(CLOCK_BOOTTIME, &now) != 0) return 0;
    const double begin_s = ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
    return std::max(0.0, static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) - begin_s);
}

}  // namespace voltpile
