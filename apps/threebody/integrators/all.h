// All integrators of method_table.h.
#pragma once

#include "threebody/integrators/euler.h"
#include "threebody/integrators/gbs10.h"
#include "threebody/integrators/leapfrog.h"
#include "threebody/integrators/rk4.h"
#include "threebody/integrators/rkn8.h"
#include "threebody/integrators/srkn6.h"
#include "threebody/integrators/yoshida4.h"
