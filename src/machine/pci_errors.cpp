#include "machine/pci_errors.h"

#include <cstdlib>
#include <fstream>
#include <optional>

#include "base/kernel_files.h"
#include "machine/gpu_snapshot.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;

// The last line of a counter file is its sum: "TOTAL_ERR_COR 12".
std::optional<double> total_in(const fs::path& file) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
        if (line.starts_with("TOTAL_ERR")) return std::atof(line.c_str() + line.find(' '));
    return std::nullopt;
}

}  // namespace

std::vector<PciErrors> pci_errors(const std::string& bus_id, const fs::path& sys) {
    std::vector<PciErrors> counters;
    std::error_code error;
    // .../pci0000:00/0000:00:02.0/0000:15:00.0
    const fs::path device = fs::canonical(sys / "bus/pci/devices" / bus_id, error);
    fs::path at;
    for (const fs::path& name : device) {
        at /= name;
        if (!is_bus_id(name.string())) continue;
        const auto correctable = total_in(at / "aer_dev_correctable");
        if (!correctable) continue;
        counters.push_back({name.string(), *correctable, total_in(at / "aer_dev_nonfatal").value_or(0),
                            total_in(at / "aer_dev_fatal").value_or(0)});
    }
    return counters;
}

std::vector<std::string> nvidia_gpus(const fs::path& sys) {
    std::vector<std::string> gpus;
    for (const fs::path& device : sorted_entries(sys / "bus/pci/devices")) {
        const std::string kind = first_line(device / "class");  // 0x0300: VGA, 0x0302: 3D controller
        if (first_line(device / "vendor") == "0x10de" &&
            (kind.starts_with("0x0300") || kind.starts_with("0x0302")))
            gpus.push_back(device.filename());
    }
    return gpus;
}

}  // namespace voltpile
