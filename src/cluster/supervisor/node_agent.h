// The agent of `voltpile launch` on a node. It starts nothing of the job: it checks the node, and ends the
// processes of the launch when asked to, or when the launch itself has died.
//
// Questions arrive on stdin and answers go to stdout (cluster/hosts/agent_lines.h):
//   {"do": "describe"} -> {"host": ..., "identity": ..., "cores": 32}
//   {"do": "check"} -> {"report": <voltpile check --json>, "gpus": [{"bus_id": ..., "memory_used_bytes":
//   ...}]}
//   {"do": "guard", "mark": ...} -> {"left": [{"pid": ..., "name": ...}]}: ends what earlier attempts have
//   left
//   {"do": "end"} -> {"left": [...]}: the processes that could not be ended
//   {"do": "log", "since_s": ...} -> {"kernel": [{"time_s": ..., "text": ...}]}
//   {"do": "count", "result": ...} -> {"points": <committed, as seen from this node>}
//   {"do": "alive"}: no answer
// Once the agent guards, it sends news every second: {"samples": ["<machine/node_json.h>", ...]}.
#pragma once

namespace voltpile {

// Answers questions until stdin ends or a minute passes without a line; then ends the processes that it
// guards and exits the process. Blocks SIGTERM, SIGINT and SIGHUP: they end launchers, and the agent comes
// last.
int run_node_agent();

}  // namespace voltpile
