// The load of ranks that have whole experts of a mixture (RankShare::experts).
#pragma once

namespace voltpile::llm {

// Returns how many experts the busiest of `ranks` ranks reads in a pass, relative to the mean rank, when
// tokens choose experts at random. used: the share of all experts that some token of the pass chooses, above
// 0. Takes the numbers of experts on the ranks as independent normal variables.
double busiest_rank(double experts, int ranks, double used);

}  // namespace voltpile::llm
