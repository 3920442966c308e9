#include "cluster/hosts/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/shell_quote.h"

namespace voltpile {
namespace {

constexpr std::string_view shell_prefix = "voltpile-hosts-shell: ";
constexpr int ssh_failed = 255;

struct Phrase {
    std::string_view text;
    Access access;
};

// Messages of OpenSSH, which it does not translate. The first match counts.
constexpr std::array<Phrase, 14> phrases{{
    {"HOST IDENTIFICATION HAS CHANGED", Access::HostKeyChanged},
    {"Host key verification failed", Access::HostKeyUnknown},
    {"host key is known for", Access::HostKeyUnknown},
    {"Could not resolve hostname", Access::NameUnknown},
    {"Name or service not known", Access::NameUnknown},
    {"Permission denied", Access::KeyNotAccepted},
    {"Too many authentication failures", Access::KeyNotAccepted},
    {"Connection refused", Access::Refused},
    {"No route to host", Access::Unreachable},
    {"Network is unreachable", Access::Unreachable},
    {"Host is down", Access::Unreachable},
    {"timed out", Access::Unreachable},
    {"Timeout", Access::Unreachable},
    {"not responding", Access::Unreachable},
}};

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < text.size();) {
        const auto end = std::min(text.find('\n', begin), text.size());
        std::string line = text.substr(begin, end - begin);
        while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
        if (!line.empty()) lines.push_back(line);
        begin = end + 1;
    }
    return lines;
}

}  // namespace

std::string remote_script(const std::string& program, const std::string& arguments) {
    const std::string file = shell_quote(program);
    return fmt::format(
        "say() {{ echo \"{0}$*\"; }}; say reached; "
        "say mpirun $(command -v mpirun); "
        "say orted $(command -v orted || command -v prted); "
        "say version $(mpirun --version 2>&1 </dev/null | head -n 1); "
        "test -e {1} || {{ say missing; exit 0; }}; "  // csh would expand "!"
        "test -x {1} || {{ say not-executable; exit 0; }}; "
        "exec {1} {2}",
        shell_prefix, file, arguments);
}

std::string remote_command(const std::string& program, const std::string& arguments) {
    return "exec /bin/sh -c " + shell_quote(remote_script(program, arguments));
}

std::vector<std::string> ssh_command(const std::string& user, const std::string& host,
                                     const std::string& remote_command) {
    std::vector<std::string> command{"ssh",
                                     "-x",
                                     "-T",
                                     "-o",
                                     "BatchMode=yes",
                                     "-o",
                                     "ConnectTimeout=5",
                                     "-o",
                                     "ConnectionAttempts=1",
                                     "-o",
                                     "ServerAliveInterval=3",
                                     "-o",
                                     "ServerAliveCountMax=3",
                                     "-o",
                                     "ControlMaster=no"};
    if (!user.empty()) command.insert(command.end(), {"-l", user});
    command.insert(command.end(), {"--", host, remote_command});
    return command;
}

void read_shell_line(const std::string& line, RemoteShell& shell, Access& access) {
    if (!line.starts_with(shell_prefix)) {
        if (!line.empty()) shell.chatter.push_back(line);
        return;
    }
    const std::string text = line.substr(shell_prefix.size());
    const auto space = std::min(text.find(' '), text.size());
    const std::string key = text.substr(0, space);
    const std::string value = space < text.size() ? text.substr(space + 1) : "";
    if (key == "reached") shell.reached = true;
    if (key == "mpirun") shell.mpirun = value;
    if (key == "orted") shell.orted = value;
    if (key == "version") shell.mpirun_version = value;
    if (key == "missing") access = Access::ProgramMissing;
    if (key == "not-executable") access = Access::ProgramNotExecutable;
}

Access access_failure(const RemoteShell& shell, int exit_code, const std::string& errors) {
    if (shell.reached && exit_code != ssh_failed) return Access::ProgramFails;
    if (shell.reached) return Access::NoAnswer;
    for (const Phrase& phrase : phrases)
        if (errors.find(phrase.text) != std::string::npos) return phrase.access;
    return Access::SshFailed;
}

std::string essence(const std::string& errors) {
    const auto lines = lines_of(errors);
    for (const Phrase& phrase : phrases)
        for (const std::string& line : lines)
            if (line.find(phrase.text) != std::string::npos && line.find('@') != 0) return line;
    return lines.empty() ? "" : lines.back();
}

}  // namespace voltpile
