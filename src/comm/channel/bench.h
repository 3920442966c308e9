// Measures a channel. Both ends call with the same numbers, one as the first (or sender).
#pragma once

#include "comm/channel/channel.h"

namespace voltpile {

// Returns the mean seconds of a message one way: half a round trip, over `rounds` of them after a tenth as
// many for warm-up. out, in: of the same size.
double one_way_seconds(Channel& channel, bool first, ConstMemory out, Memory in, int rounds);

// Returns the bytes per second of `count` messages with `window` of them in flight, from the first send until
// the last one has been received, after `window` messages for warm-up. All are sent from and received into
// one buffer.
double bytes_per_second(Channel& channel, bool sender, Memory memory, int count, int window);

}  // namespace voltpile
