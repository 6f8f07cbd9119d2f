#include "ir/digest_source.h"

#include <utility>

#include "ir/types.h"

namespace pteron::ir {
namespace {

class DigestSource : public ConstantSource {
 public:
  DigestSource(ScalarType dtype, std::vector<int64_t> shape, std::string digest)
      : dtype_(dtype), shape_(std::move(shape)), digest_(std::move(digest)), nbytes_(Type(dtype_, shape_).nbytes().value_or(0)) {}
  ScalarType dtype() const override { return dtype_; }
  const std::vector<int64_t>& shape() const override { return shape_; }
  uint64_t nbytes() const override { return nbytes_; }
  Status stream(const ByteSink&) const override { return missing(); }
  Status read_rows_f32(int64_t, int64_t, float*) const override { return missing(); }

 private:
  Status missing() const { return Status::error(Code::unsupported, "a graph read from text has no contents of its constants", {.found = "sha256 " + digest_}); }
  ScalarType dtype_;
  std::vector<int64_t> shape_;
  std::string digest_;
  uint64_t nbytes_;
};

}  // namespace

ConstantPtr make_digest_source(ScalarType dtype, std::vector<int64_t> shape, std::string sha256_hex) {
  return std::make_shared<DigestSource>(dtype, std::move(shape), std::move(sha256_hex));
}

}  // namespace pteron::ir
