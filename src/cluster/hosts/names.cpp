#include "cluster/hosts/names.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

namespace voltpile {
namespace {

ResolvedName resolve(const std::string& name) {
    ResolvedName out{name, {}, ""};
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    if (const int error = getaddrinfo(name.c_str(), nullptr, &hints, &found); error != 0) {
        out.error = gai_strerror(error);
        return out;
    }
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
    for (const addrinfo* each = found; each; each = each->ai_next) {
        std::array<char, NI_MAXHOST> text{};
        if (getnameinfo(each->ai_addr, each->ai_addrlen, text.data(), text.size(), nullptr, 0,
                        NI_NUMERICHOST) == 0 &&
            std::ranges::find(out.addresses, text.data()) == out.addresses.end())
            out.addresses.emplace_back(text.data());
    }
    return out;
}

}  // namespace

std::vector<ResolvedName> resolve_names(const std::vector<std::string>& names, int seconds) {
    // The resolver cannot be stopped, so a thread that waits for it is left to itself.
    std::vector<std::future<ResolvedName>> answers;
    for (const std::string& name : names) {
        std::packaged_task<ResolvedName()> task([name] { return resolve(name); });
        answers.push_back(task.get_future());
        std::thread(std::move(task)).detach();
    }
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    std::vector<ResolvedName> out;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (answers[i].wait_until(until) == std::future_status::ready)
            out.push_back(answers[i].get());
        else
            out.push_back({names[i], {}, fmt::format("no answer in {} s", seconds)});
    }
    return out;
}

bool is_loopback(const std::string& address) {
    return address.starts_with("127.") || address == "::1";
}

}  // namespace voltpile
