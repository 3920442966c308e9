#include "cluster/hosts/this_host.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "base/host_name.h"
#include "cluster/hosts/inventory.h"
#include "cluster/hosts/network.h"

namespace voltpile {
namespace {

std::string first_label(const std::string& name) {
    const bool is_address = name.empty() || std::isdigit(static_cast<unsigned char>(name.front()));
    return is_address ? name : name.substr(0, name.find('.'));
}

// A name that wrongly resolves to 127.0.0.1 is not this host.
bool is_this_host(const ResolvedName& entry, const std::vector<HostInterface>& own) {
    if (first_label(entry.name) == first_label(host_name())) return true;
    if (entry.name == "localhost" || is_loopback(entry.name)) return true;
    return std::ranges::any_of(own, [&](const HostInterface& interface) {
        return std::ranges::find_first_of(interface.addresses, entry.addresses) != interface.addresses.end();
    });
}

}  // namespace

std::vector<bool> which_are_this_host(std::span<const HostEntry> entries) {
    const std::vector<HostInterface> own = host_interfaces();
    std::vector<std::string> names;
    for (const HostEntry& entry : entries) names.push_back(entry.name);
    std::vector<bool> here;
    for (const ResolvedName& name : resolve_names(names, 5)) here.push_back(is_this_host(name, own));
    return here;
}

}  // namespace voltpile
