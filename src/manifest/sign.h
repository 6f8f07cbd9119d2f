// Writing manifests.
#pragma once

#include "base/file.h"
#include "base/status.h"
#include "pteron/manifest.h"

namespace pteron::manifest {

// Signs what `writer` (of a regular file) has written so far: appends digests, padding and footer. The caller commits.
Status append_signature(FileWriter& writer, const PrivateKey& key, const SignOptions& options);

}  // namespace pteron::manifest
