// The text form of modules: complete, canonical (values are numbered in order of definition), read back by the parser.
#pragma once

#include <string>

#include "base/status.h"
#include "ir/graph.h"

namespace pteron::ir {

// Constants of at most 16 elements are printed as values, others by the SHA-256 of their bytes, for which they are streamed once.
// Constants that no method uses are printed too. Fails only where a constant cannot be read.
Result<std::string> print(const Module& module);
// One method, without the constants' contents.
std::string print(const Module& module, const Graph& graph);

}  // namespace pteron::ir
