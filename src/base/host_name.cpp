#include "base/host_name.h"

#include <unistd.h>

#include "base/kernel_files.h"

namespace voltpile {

std::string host_name() {
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return name;
}

std::string host_identity() {
    return host_name() + " " + first_line("/proc/sys/kernel/random/boot_id");
}

}  // namespace voltpile
