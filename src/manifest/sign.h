// Writing manifests.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "pteron/manifest.h"

namespace pteron::manifest {

// A data file that is listed in a statement: its name without folders, and its bytes.
struct DataFile {
  std::string name;
  FileBytes bytes;
};

// Signs what `writer` (of a regular file) has written so far: appends digests, padding and footer. The caller commits.
// The data files are those of `data` and of the options.
Status append_signature(FileWriter& writer, const PrivateKey& key, const SignOptions& options, std::vector<DataFile> data = {});

}  // namespace pteron::manifest
