// The command that ssh runs on a host, and what its failures mean.
#pragma once

#include <string>
#include <vector>

#include "cluster/hosts/visit.h"

namespace voltpile {

// For /bin/sh there: tells in lines what can be told without the program (read_shell_line), then becomes
// `program hosts --report`. `program`: absolute path.
std::string remote_script(const std::string& program);

// The same as a single word for whatever the user's login shell is.
std::string remote_command(const std::string& program);

// `ssh` with the options that keep it from asking and from waiting.
std::vector<std::string> ssh_command(const std::string& user, const std::string& host,
                                     const std::string& remote_command);

// Takes in a line of remote_script or of anything else that speaks there before the program does.
void read_shell_line(const std::string& line, RemoteShell& shell, Access& access);

// Why a session has ended before the program answered. errors: the stderr of ssh.
Access access_failure(const RemoteShell& shell, int exit_code, const std::string& errors);

// The line of `errors` that says it best.
std::string essence(const std::string& errors);

}  // namespace voltpile
