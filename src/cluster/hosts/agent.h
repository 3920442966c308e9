// The remote end of `voltpile hosts`: the same program on each host answers questions over ssh.
//
// Questions arrive on stdin and answers go to stdout, one line of JSON each. Answers start with
// `answer_prefix` (agent_lines.h):
//   {"do": "clock"}                                          -> {"time": <seconds since 1970>}
//   {"do": "report", "names": [...], "folder": ..., "seen": ..., "own": ..., "text": ..., "greeting": ...}
//                                                            -> the host's report (cluster/hosts/report.h)
//   {"do": "connect", "targets": [...]}                      -> {"attempts": [...]}
// The agent starts with {"ready": true}.
#pragma once

namespace voltpile {

// Answers questions until stdin ends or two minutes pass without one. Removes its files and exits the
// process.
int run_host_agent();

}  // namespace voltpile
