#include "cluster/hosts/network.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <future>
#include <memory>

#include "base/error.h"
#include "results/parts/durable_file.h"

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

// Returns a listening socket for IPv4 and, if the kernel supports it, IPv6, on a port of the kernel's choice.
int listening_socket() {
    FileDescriptor fd(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    const int no = 0;
    if (fd.get() >= 0 && setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) == 0 &&
        bind(fd.get(), reinterpret_cast<sockaddr*>(&any), sizeof any) == 0 && listen(fd.get(), 1024) == 0)
        return fd.release();
    FileDescriptor plain(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in any4{};
    any4.sin_family = AF_INET;
    if (plain.get() < 0 || bind(plain.get(), reinterpret_cast<sockaddr*>(&any4), sizeof any4) != 0 ||
        listen(plain.get(), 1024) != 0)
        throw FileError("listen on", "a TCP port", errno);
    return plain.release();
}

int port_of(int fd) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
    return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                               : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

void answer(int listener, int wake, const std::string& greeting) {
    while (true) {
        std::array<pollfd, 2> fds{{{listener, POLLIN, 0}, {wake, POLLIN, 0}}};
        poll(fds.data(), fds.size(), -1);
        if (fds[1].revents) return;
        if (!fds[0].revents) continue;
        const FileDescriptor peer(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
        if (peer.get() >= 0) send(peer.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL);
    }
}

std::string reason(int error_number, int seconds) {
    if (error_number == EINPROGRESS || error_number == EAGAIN)
        return fmt::format("no answer in {} s", seconds);
    return std::strerror(error_number);
}

// Connects to a target. Returns an error message, or "" if it sent its greeting.
std::string try_target(const PortTarget& target, int seconds) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST;
    const std::string port = std::to_string(target.port);
    if (const int error = getaddrinfo(target.address.c_str(), port.c_str(), &hints, &found); error != 0)
        return gai_strerror(error);
    const FileDescriptor fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval limit{seconds, 0};
    setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);  // also applies to connect()
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    const int failed = connect(fd.get(), found->ai_addr, found->ai_addrlen);
    const int error_number = errno;
    freeaddrinfo(found);
    if (failed) return reason(error_number, seconds);
    std::string heard(target.greeting.size(), '\0');
    const ssize_t n = recv(fd.get(), heard.data(), heard.size(), MSG_WAITALL);
    if (n < 0) return reason(errno, seconds);
    return heard == target.greeting ? "" : "another machine or program answers there";
}

}  // namespace

std::vector<ResolvedName> resolve_names(const std::vector<std::string>& names, int seconds) {
    // The resolver cannot be interrupted, so threads that wait for it are detached.
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

PortListener::PortListener(std::string greeting) : fd_(listening_socket()), wake_(eventfd(0, EFD_CLOEXEC)) {
    port_ = port_of(fd_);
    thread_ = std::thread([this, greeting = std::move(greeting)] { answer(fd_, wake_, greeting); });
}

PortListener::~PortListener() {
    eventfd_write(wake_, 1);
    thread_.join();
    close(fd_);
    close(wake_);
}

std::vector<PortAttempt> connect_to(const std::vector<PortTarget>& targets, int seconds) {
    std::vector<PortAttempt> attempts(targets.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        attempts[i] = {targets[i].host, targets[i].address, ""};
        threads.emplace_back([&, i] { attempts[i].error = try_target(targets[i], seconds); });
    }
    for (std::thread& thread : threads) thread.join();
    return attempts;
}

}  // namespace voltpile
