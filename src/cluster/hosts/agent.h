// The other end of `voltpile hosts`: the same program on each host, which answers questions over ssh.
//
// Questions come on stdin and answers go to stdout, a line of JSON each; answers begin with `answer_prefix`,
// so that what a login script prints is not taken for one:
//   {"do": "clock"}                                          -> {"time": <seconds since 1970>}
//   {"do": "report", "names": [...], "folder": ..., "seen": ..., "own": ..., "text": ..., "greeting": ...}
//                                                            -> the host's report (cluster/hosts/report.h)
//   {"do": "connect", "targets": [...]}                      -> {"attempts": [...]}
// At its start it says {"ready": true}.
#pragma once

#include <string_view>

namespace voltpile {

inline constexpr std::string_view answer_prefix = "voltpile-hosts: ";

// Answers until its input ends, or nobody asks for two minutes; leaves no file behind. Returns the exit code.
int run_host_agent();

}  // namespace voltpile
