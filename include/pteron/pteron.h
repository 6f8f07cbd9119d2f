// Everything of pteron's C++ interface.
#pragma once

#include "pteron/allocator.h"
#include "pteron/backend.h"
#include "pteron/compile.h"
#include "pteron/conformance.h"
#include "pteron/generation.h"
#include "pteron/io_manager.h"
#include "pteron/llm.h"
#include "pteron/manifest.h"
#include "pteron/method.h"
#include "pteron/profile.h"
#include "pteron/program.h"
#include "pteron/status.h"
#include "pteron/tensor.h"
#include "pteron/tensor_file.h"
#include "pteron/version.h"
