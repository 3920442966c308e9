// What the ranks of a replica do when one of its passes has failed, so that none of them waits forever and
// the leader knows why. The replica cannot be used afterwards, nor be destroyed in order.
#pragma once

#include <exception>

#include "llm/replica/replica.h"
#include "llm/session/queue_message.h"

namespace voltpile::llm {

// On a rank that does not lead: tells the leader, and calls off what other ranks of the team do with this
// one. Throws CommError if the leader cannot be told.
void report_failure(Replica& replica, const std::exception& error);

// On the leader: calls off what others do with it, and returns the failure, with the rank and its host. Waits
// up to two seconds for the report of a rank that failed first if the error is a CommError.
ReplicaFailure find_failure(Replica& replica, const std::exception& error);

}  // namespace voltpile::llm
