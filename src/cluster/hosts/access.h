// The command that ssh runs on a host, and what its failures mean.
#pragma once

#include <string>
#include <vector>

#include "cluster/hosts/visit.h"

namespace voltpile {

// Returns a script for /bin/sh on the host: it prints lines for read_shell_line(), then executes
// `program arguments`. program: absolute path. arguments: words for a shell.
std::string remote_script(const std::string& program, const std::string& arguments);

// Returns the script as a command that any login shell can run.
std::string remote_command(const std::string& program, const std::string& arguments);

// Returns an ssh command that never prompts and gives up after seconds.
std::vector<std::string> ssh_command(const std::string& user, const std::string& host,
                                     const std::string& remote_command);

// Reads a line that remote_script(), a login script or ssh printed before the program started.
void read_shell_line(const std::string& line, RemoteShell& shell, Access& access);

// Returns why a session ended before the program answered. errors: stderr of ssh.
Access access_failure(const RemoteShell& shell, int exit_code, const std::string& errors);

// Returns the line of `errors` that names the cause, or the last line.
std::string essence(const std::string& errors);

}  // namespace voltpile
