// Ranks without MPI, for tests that kill and stop ranks: child processes that exchange texts through their
// parent.
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "comm/channel/group.h"

namespace voltpile {

namespace processes {

inline bool transfer_all(bool reads, int fd, void* data, std::size_t bytes) {
    auto* at = static_cast<char*>(data);
    while (bytes > 0) {
        const ssize_t n = reads ? read(fd, at, bytes) : send(fd, at, bytes, MSG_NOSIGNAL);
        if (n <= 0) return false;
        at += n;
        bytes -= static_cast<std::size_t>(n);
    }
    return true;
}

inline bool put(int fd, const std::string& text) {
    std::uint64_t size = text.size();
    return transfer_all(false, fd, &size, sizeof size) &&
           transfer_all(false, fd, const_cast<char*>(text.data()), text.size());
}

inline bool get(int fd, std::string& text) {
    std::uint64_t size = 0;
    if (!transfer_all(true, fd, &size, sizeof size)) return false;
    text.resize(size);
    return transfer_all(true, fd, text.data(), size);
}

}  // namespace processes

struct RankResult {
    bool passed = false;
    int signal = 0;  // the signal that ended it
};

// Runs body(rank, gather) in `ranks` processes; a body that throws fails. Each process has its own host name
// if this user may set one. A stopped process continues after `stopped_for` seconds. All are killed after a
// minute.
inline std::vector<RankResult> run_ranks(int ranks, const std::function<void(int, const TextGather&)>& body,
                                         unsigned stopped_for = 3) {
    std::vector<pid_t> children;
    std::vector<int> lines;
    std::fflush(nullptr);
    for (int rank = 0; rank < ranks; ++rank) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
            throw std::runtime_error("socketpair");
        const pid_t child = fork();
        if (child == 0) {
            for (int each : lines) close(each);
            close(ends[0]);
            alarm(60);
            if (unshare(CLONE_NEWUTS) == 0) {
                const std::string name = "node" + std::to_string(rank);
                [[maybe_unused]] const int named = sethostname(name.data(), name.size());
            }
            int code = 1;
            try {
                body(rank, [&](const std::string& mine) {
                    std::vector<std::string> all(static_cast<std::size_t>(ranks));
                    if (!processes::put(ends[1], mine))
                        throw std::runtime_error("the test's process is gone");
                    for (std::string& each : all)
                        if (!processes::get(ends[1], each)) throw std::runtime_error("a rank ended early");
                    return all;
                });
                code = 0;
            } catch (const std::exception& error) {
                std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
            }
            std::fflush(nullptr);
            _exit(code);
        }
        close(ends[1]);
        children.push_back(child);
        lines.push_back(ends[0]);
    }
    std::vector<RankResult> results(children.size());
    std::thread waiter([&] {
        for (std::size_t i = 0; i < children.size(); ++i) {
            int status = 0;
            waitpid(children[i], &status, WUNTRACED);
            while (WIFSTOPPED(status)) {
                sleep(stopped_for);
                kill(children[i], SIGCONT);
                waitpid(children[i], &status, WUNTRACED);
            }
            results[i] = {WIFEXITED(status) && WEXITSTATUS(status) == 0,
                          WIFSIGNALED(status) ? WTERMSIG(status) : 0};
        }
    });
    for (bool all_there = true; all_there;) {  // rounds of gathering until a rank ends
        std::vector<std::string> texts(static_cast<std::size_t>(ranks));
        for (std::size_t i = 0; i < texts.size(); ++i) all_there &= processes::get(lines[i], texts[i]);
        for (int line : lines)
            for (const std::string& text : texts)
                if (all_there) processes::put(line, text);
    }
    for (int line : lines) shutdown(line, SHUT_RDWR);
    waiter.join();
    for (int line : lines) close(line);
    return results;
}

// For bodies: fails the rank.
inline void require(bool condition, const std::string& what) {
    if (!condition) throw std::runtime_error("not so: " + what);
}

}  // namespace voltpile
