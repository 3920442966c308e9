#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "run/stop_signals.h"
#include "view/view_server.h"

namespace voltpile::cli {

void add_view(CLI::App& cli, Action& action) {
    CLI::App* command = cli.add_subcommand("view", "show a result on a web page: zoom, pan, read values");
    auto result = std::make_shared<std::string>();
    auto port = std::make_shared<int>(0);
    command->add_option("FILE", *result, "result file (.h5), finished or not")
        ->required()
        ->check(some_result());
    command->add_option("--port", *port, "serve the page on this port [a free one]")
        ->type_name("N")
        ->check(CLI::Range(0, 65535));
    command->footer(
        "Prints the address of the page and serves it until Ctrl-C, to this machine only. From elsewhere:\n"
        "ssh -L 8080:127.0.0.1:8080 HOST voltpile view FILE --port 8080\n"
        "example: voltpile view results/seed_map.h5");
    command->callback([result, port, &action] {
        action = on_first_rank([result, port](const Invocation&) {
            StopSignals signals;
            const ViewServer server(*result, *port);
            fmt::print("{}\n", server.url());
            std::fflush(stdout);
            constexpr int look_ms = 1000;
            while (signals.received() < 1) signals.wait(look_ms);
            return ExitCode::Done;
        });
    });
}

}  // namespace voltpile::cli
