// Status and Result for use inside the library, with the two macros that keep error paths short.
#pragma once

#include "pteron/status.h"

// Returns from the enclosing function if `expr` (a Status) is an error.
#define PTERON_TRY(expr)                                    \
  do {                                                      \
    if (::pteron::Status pteron_s = (expr); !pteron_s.ok()) \
      return pteron_s;                                      \
  } while (false)

#define PTERON_CONCAT_INNER(a, b) a##b
#define PTERON_CONCAT(a, b) PTERON_CONCAT_INNER(a, b)

// `PTERON_ASSIGN(auto x, f())`: declares or assigns x from a Result, or returns its error.
#define PTERON_ASSIGN(lhs, expr) PTERON_ASSIGN_INNER(PTERON_CONCAT(pteron_r, __LINE__), lhs, expr)
#define PTERON_ASSIGN_INNER(tmp, lhs, expr) \
  auto tmp = (expr);                        \
  if (!tmp.ok())                            \
    return std::move(tmp).status();         \
  lhs = std::move(tmp).value()
