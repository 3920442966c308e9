#include "base/host_name.h"

#include <unistd.h>

#include <fstream>

namespace voltpile {

std::string host_name() {
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return name;
}

std::string host_identity() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string boot;
    std::getline(file, boot);
    return host_name() + " " + boot;
}

}  // namespace voltpile
