// What `kreisel check` asks of a System: its derivatives and its ranks.
#pragma once

#include "kreisel/system/audit.hpp"
#include "kreisel/system/dense.hpp"
#include "kreisel/system/ranks.hpp"
