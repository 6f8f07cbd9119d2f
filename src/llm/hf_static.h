// The I/O manager of contract `hf_static` version 1.
#pragma once

#include "llm/io_manager.h"

namespace pteron::llm {

// Adds (hf_static, 1) to a registry.
Status register_hf_static(IoManagerRegistry& registry);

// Parses and validates the object against the program's methods: what the registry calls.
Result<std::unique_ptr<IoContract>> open_hf_static(std::string_view json, const MethodSource& source);

}  // namespace pteron::llm
