// Token ids and logits as the whole folder names them.
#pragma once

#include "pteron/generation.h"

namespace pteron::llm {

using pteron::LogitsView;

}  // namespace pteron::llm
