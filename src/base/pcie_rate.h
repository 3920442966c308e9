// How fast a PCI Express link is.
#pragma once

namespace voltpile {

// Gigabytes per second in one direction: transfers per second less the encoding. Generations after the newest
// known one count as that; 0 if one of the two is 0, which means unknown.
double pcie_gb_per_s(int generation, int lanes);

}  // namespace voltpile
